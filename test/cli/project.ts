import { svc } from '../support/cli.ts'
import { type TempDir, tempDir } from '../support/temp.ts'

/** A folder in which `svc init` was run, gone at the end of its block. */
export async function project(files: Readonly<Record<string, string>> = {}): Promise<TempDir> {
  const dir = await tempDir()
  await svc(['init', '--quiet'], { cwd: dir.path })
  await dir.write(files)
  return dir
}

/** A configuration whose agents act fast enough for a test. */
export const FAST = { '.svc/config.yaml': 'daemon:\n  heartbeat: 0.2\nmodel:\n  sim_delay: 0\n' }
