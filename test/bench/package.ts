import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdtemp, readdir, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import build from '../support/vitest/build.ts'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

let made: Promise<string> | undefined

/** The folder of the package as npm would publish it, with the packages of this checkout: what is built meanwhile does not touch it. */
export function packOnce(): Promise<string> {
  made ??= pack()
  return made
}

async function pack(): Promise<string> {
  await build()
  const place = await mkdtemp(join(tmpdir(), 'svc-packed-'))
  process.on('exit', () => rmSync(place, { recursive: true, force: true }))
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', place], { cwd: ROOT })
  const [archive] = await readdir(place)
  await run('tar', ['-xzf', join(place, archive!), '-C', place])
  const folder = join(place, 'package')
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** The program of the packed package. */
export const program = async () => join(await packOnce(), 'dist', 'svc.js')
