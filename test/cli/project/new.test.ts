import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newPlugin } from '#interfaces/cli/commands/project/new'
import type { Context } from '#interfaces/cli/context'
import { PLUGIN_KINDS } from '#interfaces/cli/scaffold/kinds'
import { systemPorts } from '#lib/system-ports'
import { ROOT, tsc } from '../../spec/authors.ts'
import { tempDir } from '../../support/temp.ts'
import { svc } from '../../support/vitest/warm.ts'
import { project } from '../project.ts'
import { writeAll } from './scaffolds.ts'

/** Context to run the command in this process, for cases refused before anything is written. */
const context = (root: string) =>
  ({
    ports: systemPorts(),
    named: root,
    host: { packageRoot: ROOT },
    json: false,
    tree: { modules: [], commands: [] },
  }) as unknown as Context

describe('svc new plugin', () => {
  it('writes a plugin and its test, and says what to do next', async () => {
    await using dir = await project()
    const { code, stdout, stderr } = await svc(['new', 'plugin', 'first-steps'], { cwd: dir.path })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(await readdir(join(dir.path, 'plugins'))).toEqual(['first-steps.test.ts', 'first-steps.ts'])
    expect(stdout).toContain('svc plugins check plugins/first-steps.ts')
    expect(stdout).toContain('npx vitest run plugins/first-steps.test.ts   (first: npm install --save-dev vitest')
    const json = await svc(['new', 'plugin', 'second', '--json'], { cwd: dir.path })
    expect(JSON.parse(json.stdout)).toEqual({ made: ['plugins/second.ts', 'plugins/second.test.ts'] })
  })

  it('writes plugins of every kind that load unchanged, offer their command, and type-check except for vitest', async () => {
    await using dir = await project()
    await svc(['new', 'plugin', 'the-first'], { cwd: dir.path })
    await writeAll(dir)
    for (const kind of PLUGIN_KINDS) {
      const { stdout } = await svc(['plugins', 'reload', `a-${kind}`], { cwd: dir.path })
      expect(stdout).toMatch(new RegExp(`^a-${kind}: (re)?loaded$`, 'm'))
    }
    expect((await svc(['a-operation', 'world', '--loud'], { cwd: dir.path })).stdout).toBe('HELLO, WORLD!\n')
    const { output } = await tsc(dir.path)
    const lines = output.trim().split('\n')
    expect(lines).toHaveLength(PLUGIN_KINDS.length + 1)
    expect(lines.filter(line => !/\.test\.ts\(.*Cannot find module 'vitest'/.test(line))).toEqual([])
  })

  it('overwrites no plugin and no test', async () => {
    await using dir = await project({
      'plugins/here.mjs': 'mine',
      'plugins/folder/index.ts': 'mine',
      '.svc/plugins/hidden.ts': 'mine',
      'plugins/tested.test.ts': 'mine',
    })
    for (const name of ['here', 'folder', 'hidden', 'tested']) {
      await expect(newPlugin({ name }, context(dir.path))).rejects.toMatchObject({
        exit: 1,
        message: expect.stringContaining('already exists and was not changed'),
      })
    }
    expect(await readdir(join(dir.path, 'plugins'))).toEqual(['folder', 'here.mjs', 'tested.test.ts'])
  })

  it('refuses a name that would be refused when the plugin is loaded', async () => {
    await using dir = await project()
    // Names of a module, a toolkit and a command.
    for (const name of ['store', 'file', 'config']) {
      const { code, stderr } = await svc(['new', 'plugin', name], { cwd: dir.path })
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: expect.stringContaining(`choose another name, such as my-${name}`),
      })
    }
    expect(await readdir(join(dir.path, 'plugins'))).toEqual([])
  })

  it('says which names and kinds are allowed', async () => {
    await using dir = await project()
    for (const name of ['Office', 'office hours', '../office', '', '-', 'ö', 'a'.repeat(65)]) {
      await expect(newPlugin({ name }, context(dir.path)), name).rejects.toMatchObject({
        exit: 2,
        message: expect.stringContaining('lower-case letters, digits and hyphens, as in office-hours'),
      })
    }
    const { code, stderr } = await svc(['new', 'plugin', 'x', '--kind', 'widget'], { cwd: dir.path })
    expect(code).toBe(2)
    expect(stderr).toContain('--kind is one of mix, tool, guard')
    expect(await readdir(join(dir.path, 'plugins'))).toEqual([])
  })
})

describe('svc new profile', () => {
  it('writes a preset that agents can be spawned from, and overwrites none', async () => {
    await using dir = await project({ 'profiles/coder.yaml': 'name: coder\nrole: mine\n' })
    expect((await svc(['new', 'profile', 'night-watch'], { cwd: dir.path })).code).toBe(0)
    const spawned = await svc(['spawn', 'night-watch', '--json'], { cwd: dir.path })
    expect(spawned.stderr).toBe('')
    expect(JSON.parse(spawned.stdout)).toMatchObject({ preset: 'night-watch' })
    expect((await svc(['new', 'profile', 'coder'], { cwd: dir.path })).stderr).toContain('already exists')
    // Of two names that differ only in case, neither could be used.
    expect((await svc(['new', 'profile', 'Coder'], { cwd: dir.path })).stderr).toContain(
      'profiles/coder.yaml already exists',
    )
    expect((await svc(['new', 'profile', '../x'], { cwd: dir.path })).code).toBe(2)
    // A number in YAML, but still a valid name.
    await svc(['new', 'profile', '007'], { cwd: dir.path })
    expect((await svc(['spawn', '007'], { cwd: dir.path })).stderr).toBe('')
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

  it('list every configuration key with type, default and description, allow no others, and include plugin keys', async () => {
    await using dir = await tempDir()
    await svc(['init', '--quiet'], { cwd: dir.path })
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

    await svc(['new', 'plugin', 'counter'], { cwd: dir.path })
    expect((await svc(['init'], { cwd: dir.path })).stdout).toMatch(/created +\.svc\/schema\//)
    const learnt = (await read(dir, 'config.json')).properties!.plugins!
    expect(learnt.properties!.config!.properties!.counter!.properties!.log_every).toMatchObject({ type: 'integer' })
    expect((await svc(['init'], { cwd: dir.path })).stdout).toMatch(/kept +\.svc\/schema\//)

    // A bad configuration leaves the schema as it was.
    await dir.write({ '.svc/config.yaml': 'daemon:\n  heartbeat: soon\n' })
    const { code, stderr } = await svc(['init', '--quiet'], { cwd: dir.path })
    expect(code).toBe(0)
    expect(stderr).toMatch(/warning: \.svc\/schema\/config\.json was not written: .*config\.yaml:2/)
    expect((await read(dir, 'config.json')).properties).toHaveProperty('daemon')
    // Without a schema, the packaged one is used.
    await rm(join(dir.path, '.svc/schema'), { recursive: true })
    expect((await svc(['init'], { cwd: dir.path })).stderr).toContain('config.json lacks the keys of plugins')
    expect(await read(dir, 'config.json')).toEqual(
      JSON.parse(await readFile(join(ROOT, 'dist/schema/config.json'), 'utf8')),
    )
  })

  it('list the keys of profiles with their limits and defaults, and a new profile points to its schema', async () => {
    await using dir = await project()
    await svc(['new', 'profile', 'night-watch'], { cwd: dir.path })
    const text = await readFile(join(dir.path, 'profiles/night-watch.yaml'), 'utf8')
    expect(text.split('\n')[0]).toBe('# yaml-language-server: $schema=../.svc/schema/profile.json')
    const { properties, required = [] } = await read(dir, 'profile.json')
    expect(properties!.max_steps).toMatchObject({ minimum: 1, maximum: 1000, default: 20 })
    expect(required).toEqual([])
  })
})
