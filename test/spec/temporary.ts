import { type TempDir, tempDir } from '../support/index.ts'

/** The system's temporary folder becomes one of the test's own, until `end`: what is left behind in it can be seen. */
export async function ownTemporary(): Promise<TempDir & { end(): Promise<void> }> {
  const { TMPDIR } = process.env
  const dir = await tempDir()
  process.env.TMPDIR = dir.path
  return Object.assign(dir, {
    async end() {
      // Others live in this process after it.
      if (TMPDIR === undefined) delete process.env.TMPDIR
      else process.env.TMPDIR = TMPDIR
      await dir[Symbol.asyncDispose]()
    },
  })
}
