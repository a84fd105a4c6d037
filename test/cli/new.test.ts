import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PLUGIN_KINDS } from '../../builtins/cli/scaffold/kinds.ts'
import { install, tsc, vitest } from '../spec/authors.ts'
import { svc } from '../support/cli.ts'
import { tempDir } from '../support/temp.ts'
import { project } from './project.ts'

/** A project with a plugin of every kind. */
async function workshop() {
  const dir = await project()
  for (const kind of PLUGIN_KINDS) await svc(['new', 'plugin', `a-${kind}`, '--kind', kind], { cwd: dir.path })
  return dir
}

describe('svc new plugin', () => {
  it('writes a plugin and its test, and says how to go on', async () => {
    await using dir = await project()
    const { code, stdout, stderr } = await svc(['new', 'plugin', 'first-steps'], { cwd: dir.path })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(await readdir(join(dir.path, 'plugins'))).toEqual(['first-steps.test.ts', 'first-steps.ts'])
    expect(stdout).toContain('svc plugins check plugins/first-steps.ts')
    expect(stdout).toContain('npx vitest run plugins/first-steps.test.ts   (first: npm install --save-dev vitest')
    const json = await svc(['new', 'plugin', 'second', '--json'], { cwd: dir.path })
    expect(JSON.parse(json.stdout)).toEqual({ made: ['plugins/second.ts', 'plugins/second.test.ts'] })
  })

  it('each kind goes live as it is, and its command is there', async () => {
    await using dir = await workshop()
    const { stdout } = await svc(['plugins', '--json'], { cwd: dir.path })
    const plugins = JSON.parse(stdout) as { name: string; state: string; error: string | null }[]
    const states = plugins.filter(({ name }) => name.startsWith('a-'))
    expect(states).toMatchObject(
      PLUGIN_KINDS.toSorted().map(kind => ({ name: `a-${kind}`, state: 'live', error: null })),
    )
    expect((await svc(['a-operation', 'world', '--loud'], { cwd: dir.path })).stdout).toBe('HELLO, WORLD!\n')
  })

  it('an editor understands all of it in a project without node_modules, but for vitest', async () => {
    await using dir = await workshop()
    const { output } = await tsc(dir.path)
    const lines = output.trim().split('\n')
    expect(lines).toHaveLength(PLUGIN_KINDS.length)
    expect(lines.filter(line => !/\.test\.ts\(.*Cannot find module 'vitest'/.test(line))).toEqual([])
  })

  it('the tests of all kinds pass where vitest is, and there nothing is left to complain about', async () => {
    await using dir = await workshop()
    await install(dir.path, 'svc', 'vitest')
    const [types, tests] = await Promise.all([tsc(dir.path), vitest(dir.path)])
    expect(types).toEqual({ code: 0, output: '' })
    expect(tests.output).toMatch(new RegExp(`Tests +${PLUGIN_KINDS.length} passed`))
    expect(tests.code).toBe(0)
  }, 60_000)

  it('where the package is installed, the types are those of the installation', async () => {
    await using dir = await tempDir()
    await install(dir.path, 'svc', '@types/node')
    await svc(['init', '--quiet'], { cwd: dir.path })
    await svc(['new', 'plugin', 'at-home', '--kind', 'hook'], { cwd: dir.path })
    expect(await readFile(join(dir.path, 'tsconfig.json'), 'utf8')).not.toContain(dir.path)
    await install(dir.path, 'vitest')
    expect(await tsc(dir.path)).toEqual({ code: 0, output: '' })
  })

  it('overwrites nothing', async () => {
    await using dir = await project({
      'plugins/here.mjs': 'mine',
      'plugins/folder/index.ts': 'mine',
      '.svc/plugins/hidden.ts': 'mine',
      'plugins/tested.test.ts': 'mine',
    })
    for (const name of ['here', 'folder', 'hidden', 'tested']) {
      const { code, stderr } = await svc(['new', 'plugin', name], { cwd: dir.path })
      expect(code).toBe(1)
      expect(stderr).toContain('is there already and stays as it is')
    }
    expect(await readdir(join(dir.path, 'plugins'))).toEqual(['folder', 'here.mjs', 'tested.test.ts'])
  })

  it('says what a name and a kind must be', async () => {
    await using dir = await project()
    for (const name of ['Office', 'office hours', '../office', '', '-', 'ö', 'a'.repeat(65)]) {
      const { code, stderr } = await svc(['new', 'plugin', '--', name], { cwd: dir.path })
      expect([name, code]).toEqual([name, 2])
      expect(stderr).toContain('lower-case letters, digits and hyphens, as in office-hours')
    }
    const { code, stderr } = await svc(['new', 'plugin', 'x', '--kind', 'widget'], { cwd: dir.path })
    expect(code).toBe(2)
    expect(stderr).toContain('--kind is one of mix, tool, guard')
    expect(await readdir(join(dir.path, 'plugins'))).toEqual([])
  })

  it('needs a project', async () => {
    await using dir = await tempDir()
    const { code, stderr } = await svc(['new', 'plugin', 'x'], { cwd: dir.path })
    expect(code).toBe(1)
    expect(stderr).toContain('make one with: svc init')
  })
})

describe('svc new profile', () => {
  it('writes a preset that agents can be spawned from, and overwrites none', async () => {
    await using dir = await project()
    expect((await svc(['new', 'profile', 'night-watch'], { cwd: dir.path })).code).toBe(0)
    const spawned = await svc(['spawn', 'night-watch', '--json'], { cwd: dir.path })
    expect(spawned.stderr).toBe('')
    expect(JSON.parse(spawned.stdout)).toMatchObject({ preset: 'night-watch' })
    expect((await svc(['new', 'profile', 'coder'], { cwd: dir.path })).stderr).toContain('is there already')
    expect((await svc(['new', 'profile', '../x'], { cwd: dir.path })).code).toBe(2)
  })
})

describe('schemas for editors', () => {
  interface Schema {
    properties?: Record<string, Schema>
    required?: string[]
    additionalProperties?: boolean
    [keyword: string]: unknown
  }
  const read = async (dir: { path: string }, name: string) =>
    JSON.parse(await readFile(join(dir.path, '.svc/schema', name), 'utf8')) as Schema

  it('the configuration’s has every key with its type, default and sentence, and knows no other', async () => {
    await using dir = await project()
    const text = await readFile(join(dir.path, '.svc/config.yaml'), 'utf8')
    expect(text.split('\n')[0]).toBe('# yaml-language-server: $schema=./schema/config.json')
    const { properties, additionalProperties } = await read(dir, 'config.json')
    expect(additionalProperties).toBe(false)
    const { daemon, seed, plugins } = properties!
    expect(daemon!.properties!.heartbeat).toMatchObject({ type: 'number', minimum: 0.05, default: 10 })
    expect(daemon!.properties!.heartbeat!.description).toEqual(expect.any(String))
    expect(daemon!.additionalProperties).toBe(false)
    expect(seed).toBeDefined()
    expect(plugins!.properties!.config!.additionalProperties).toBe(true)
  })

  it('it learns the keys of the project’s plugins when init is run again', async () => {
    await using dir = await project()
    await svc(['new', 'plugin', 'counter'], { cwd: dir.path })
    expect((await svc(['init'], { cwd: dir.path })).stdout).toMatch(/made +\.svc\/schema\//)
    const { plugins } = (await read(dir, 'config.json')).properties!
    expect(plugins!.properties!.config!.properties!.counter!.properties!.tell_every).toMatchObject({ type: 'integer' })
    expect((await svc(['init'], { cwd: dir.path })).stdout).toMatch(/kept +\.svc\/schema\//)
  })

  it('a bad configuration keeps it as it was, says so, and stops nothing', async () => {
    await using dir = await project({ '.svc/config.yaml': 'daemon:\n  heartbeat: soon\n' })
    const { code, stderr } = await svc(['init', '--quiet'], { cwd: dir.path })
    expect(code).toBe(0)
    expect(stderr).toMatch(/warning: \.svc\/schema\/config\.json was not written: .*config\.yaml:2/)
    expect((await read(dir, 'config.json')).properties).toHaveProperty('daemon')
  })

  it('the profile’s names what each key is for, and a new profile points to it', async () => {
    await using dir = await project()
    await svc(['new', 'profile', 'night-watch'], { cwd: dir.path })
    const text = await readFile(join(dir.path, 'profiles/night-watch.yaml'), 'utf8')
    expect(text.split('\n')[0]).toBe('# yaml-language-server: $schema=../.svc/schema/profile.json')
    const { properties, required = [] } = await read(dir, 'profile.json')
    expect(properties!.max_steps).toMatchObject({ minimum: 1, maximum: 1000, default: 20 })
    expect(required).toEqual([])
  })
})
