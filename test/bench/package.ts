import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import build from '../support/vitest/build.ts'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

let made: Promise<string> | undefined

/**
 * Returns the folder of the package as npm would publish it, with the dependencies of this checkout; later builds do
 * not change it.
 */
export function packOnce(): Promise<string> {
  made ??= pack()
  return made
}

async function pack(): Promise<string> {
  await build()
  const place = await mkdtemp(join(tmpdir(), 'svc-packed-'))
  process.on('exit', () => rmSync(place, { recursive: true, force: true }))
  const folder = join(place, 'package')
  await packInto(folder)
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** Packs the build, and unpacks it into a new folder as npm would install it, without its dependencies. */
export async function packInto(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], {
    cwd: ROOT,
  })
  const archive = join(folder, stdout.trim())
  await run('tar', ['-xzf', archive, '--strip-components', '1', '-C', folder])
  await rm(archive)
}

/** Returns the program of the packed package. */
export const program = async () => join(await packOnce(), 'dist', 'svc.js')
