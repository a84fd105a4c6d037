import { chmod, mkdir, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'
// @ts-expect-error The build is plain JavaScript.
import { sharingShapes } from '../../build/build-pieces.js'
import { ROOT } from '../spec/authors.ts'
import { svc } from '../support/cli.ts'
import { project } from './project.ts'

describe('what Node made of the program', () => {
  it('is kept for the next run, for its user alone; one that was harmed is made again', async () => {
    await using dir = await project()
    const caches = join(dir.path, 'caches')
    const help = () => svc(['--help'], { cwd: dir.path, env: { XDG_CACHE_HOME: caches } })
    const first = await help()
    const compiled = join(caches, 'svc', 'compiled')
    const [folder = ''] = await readdir(compiled)
    const compiledFiles = async () => {
      const files = (await readdir(join(compiled, folder))).sort()
      return Promise.all(files.map(async file => [file, await readFile(join(compiled, folder, file))] as const))
    }
    const whole = await compiledFiles()
    expect(whole.map(([name]) => name)).toContain('program.js')
    expect((await stat(compiled)).mode & 0o077).toBe(0)
    expect((await stat(join(compiled, folder, 'program.js'))).mode & 0o777).toBe(0o600)
    expect(await help()).toEqual(first)
    expect(await compiledFiles()).toEqual(whole)

    const harms: readonly ((path: string, bytes: Buffer) => Promise<void>)[] = [
      (path, bytes) => writeFile(path, bytes.fill(0xff, bytes.length >> 1)),
      (path, bytes) => writeFile(path, Buffer.alloc(bytes.length)),
      (path, bytes) => truncate(path, bytes.length >> 1),
      path => truncate(path, 0),
    ]
    for (const harm of harms) {
      for (const [name, bytes] of whole) await harm(join(compiled, folder, name), Buffer.from(bytes))
      expect(await help()).toEqual(first)
      expect((await compiledFiles()).map(([name, { length }]) => [name, length > 1000])).toEqual(
        whole.map(([name]) => [name, true]),
      )
    }
    expect(first.code).toBe(0)
  })

  it('is neither sought nor kept where others may write, and a place that cannot be had stops nothing', async () => {
    await using dir = await project()
    const caches = join(dir.path, 'caches')
    await mkdir(join(caches, 'svc', 'compiled'), { recursive: true })
    await chmod(join(caches, 'svc', 'compiled'), 0o777)
    await writeFile(join(dir.path, 'a-file'), '')
    for (const place of [caches, join(dir.path, 'a-file')]) {
      const printed = await svc(['--version'], { cwd: dir.path, env: { XDG_CACHE_HOME: place } })
      expect(printed).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/^\d+\.\d+\.\d+/) })
    }
    const [folder = ''] = await readdir(join(caches, 'svc', 'compiled'))
    expect(await readdir(join(caches, 'svc', 'compiled', folder))).toEqual([])
  })
})

it('what one place of the program spreads into new objects is of one hidden class', () => {
  setFlagsFromString('--allow-natives-syntax')
  const areSame = new Function('a', 'b', 'return %HaveSameMap(a, b)')
  setFlagsFromString('--no-allow-natives-syntax')
  const code = 'const numbered = (each, n) => ({ ...each, n, ...undefined })'
  const numbered = new Function(`${sharingShapes(code)}; return numbered`)()
  const made = Array.from({ length: 100 }, (_, n) => numbered({ name: `the ${n}th`, of: 100 }, n))
  expect(made[7]).toEqual({ name: 'the 7th', of: 100, n: 7 })
  for (const each of made.slice(50)) expect(areSame(each, made[49])).toBe(true)
  // What needs no help is left as it is.
  for (const plain of ['({ n, ...each })', '({ ...each })', 'f(...each, n)']) expect(sharingShapes(plain)).toBe(plain)
})

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

  it('takes in the client', async () => {
    const { outputFiles } = await bundle('svc/client', { platform: 'browser' })
    expect(outputFiles[0]!.text).toContain('createClient')
  })
})
