import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** Temporary folder of a test, removed at the end of its block: `await using dir = await tempDir()`. */
export class TempDir {
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  /** Writes files, by their path below the folder. */
  async write(files: Readonly<Record<string, string>>): Promise<void> {
    for (const [path, text] of Object.entries(files)) {
      const file = join(this.path, path)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, text)
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return rm(this.path, { recursive: true, force: true, maxRetries: 3 })
  }
}

export async function tempDir(files: Readonly<Record<string, string>> = {}): Promise<TempDir> {
  const dir = new TempDir(await realpath(await mkdtemp(join(tmpdir(), 'svc-'))))
  await dir.write(files)
  return dir
}
