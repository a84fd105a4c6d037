import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../spec/authors.ts'

describe('a bundler that is given the package', () => {
  const bundle = (entry: string, more: object = {}) =>
    build({
      ...{ stdin: { contents: `export * from '${entry}'`, resolveDir: ROOT }, bundle: true, platform: 'node' as const },
      ...{ format: 'esm' as const, write: false, logLevel: 'silent' as const, ...more },
    })

  it('fails with the advice to keep it external: the package reads files beside its own', async () => {
    await expect(bundle('svc')).rejects.toThrow('svc cannot be bundled, as it reads files beside its own')
    expect((await bundle('svc', { external: ['svc'] })).errors).toEqual([])
  })

  it('includes the client', async () => {
    const { outputFiles } = await bundle('svc/client', { platform: 'browser' })
    expect(outputFiles[0]!.text).toContain('createClient')
  })
})
