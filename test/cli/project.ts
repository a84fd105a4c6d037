import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type TempDir, tempDir } from '../support/temp.ts'

/** Creates a temporary project as `svc init` does, without the files for editors. Deleted at the end of its block. */
export async function project(files: Readonly<Record<string, string>> = {}): Promise<TempDir> {
  const dir = await tempDir({ '.svc/config.yaml': '', ...files })
  await chmod(join(dir.path, '.svc'), 0o700)
  await chmod(join(dir.path, '.svc/config.yaml'), 0o600)
  await mkdir(join(dir.path, 'plugins'), { recursive: true })
  return dir
}

/** A configuration whose agents act fast enough for a test. */
export const FAST = { '.svc/config.yaml': 'daemon:\n  heartbeat: 0.2\nmodel:\n  sim_delay: 0\n' }
