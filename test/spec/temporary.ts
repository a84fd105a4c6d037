import { type TempDir, tempDir } from '../support/index.ts'

/** Replaces the system's temporary folder with one of the test until `end`, so that leftovers in it can be seen. */
export async function ownTemporary(): Promise<TempDir & { end(): Promise<void> }> {
  const { TMPDIR } = process.env
  const dir = await tempDir()
  process.env.TMPDIR = dir.path
  return Object.assign(dir, {
    async end() {
      // Other tests run in this process afterwards.
      if (TMPDIR === undefined) delete process.env.TMPDIR
      else process.env.TMPDIR = TMPDIR
      await dir[Symbol.asyncDispose]()
    },
  })
}
