import { spawn } from 'node:child_process'
import { readdir, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../../..')
const SOURCES = ['kernel', 'builtins', 'embed', 'build', 'dashboard', 'test/support', 'index.ts', 'package.json']

/** Builds the program that tests run as a process, if a source is newer than the build. */
export default async function setup(): Promise<void> {
  const built = await newest(join(ROOT, 'dist', 'commands.json'))
  const changed = await Promise.all(SOURCES.map(source => newest(join(ROOT, source))))
  if (Math.max(...changed) < built) return
  const child = spawn(process.execPath, ['build/build.js'], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] })
  const code = await new Promise<number | null>((done, failed) => child.once('error', failed).once('exit', done))
  if (code !== 0) throw new Error('node build/build.js failed')
}

/** Returns when a file, or the newest one in a folder, was last changed; 0 when there is none. */
async function newest(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined)
  if (!found?.isDirectory()) return found?.mtimeMs ?? 0
  const names = await readdir(path)
  return Math.max(0, ...(await Promise.all(names.map(name => newest(join(path, name))))))
}
