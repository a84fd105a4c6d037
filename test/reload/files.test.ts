import { appendFile, mkdir, open, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { memoryScheduler, runHeartbeat, type TestHost, testHost, until } from '../support/index.ts'
import { drop, outcomeLines, saying, source, stateOf, word } from './sources.ts'

const runHeartbeats = async (home: TestHost, count: number) => {
  for (let left = count; left > 0; left--) await runHeartbeat(home)
}
const runs = (home: TestHost) => home.logged('runs ').length

it('a dropped file is live after the tenth heartbeat, and not before', async () => {
  await using home = await testHost({ builtins: [memoryScheduler(['ada']).plugin] })
  await runHeartbeats(home, 5)
  await home.write({ 'plugins/sayer.ts': saying('hello') })
  await runHeartbeats(home, 3)
  expect(word(home)).toBeUndefined()
  await runHeartbeats(home, 1)
  await until(() => word(home) === 'hello')
  await until(() => home.logged('loaded (').length === 1)
})

it('a server without a daemon checks after ten heartbeats of the same length', async () => {
  await using home = await testHost({ roles: ['server'], config: { daemon: { heartbeat: 7 } } })
  await home.write({ 'plugins/sayer.ts': saying('hello') })
  await home.clock.advance(69_000)
  expect(word(home)).toBeUndefined()
  await home.clock.advance(1_000)
  await until(() => word(home) === 'hello')
})

it('a closed server keeps no heartbeat timer', async () => {
  await using home = await testHost({ roles: ['server'] })
  await home.clock.advance(25_000)
  await home.kernel.close()
  expect(home.clock.pending).toBe(0)
})

it('a change is announced in the log with the time until it is live and the command to apply it now', async () => {
  await using home = await testHost({
    builtins: [memoryScheduler(['ada']).plugin],
    plugins: { 'sayer.ts': saying('one') },
  })
  await runHeartbeats(home, 2)
  await home.write({ 'plugins/sayer.ts': saying('two') })
  await until(async () => {
    await home.clock.advance(200)
    return home.logged('changed; live in about').length > 0
  })
  expect(home.logged('changed; live in about')).toMatchObject([
    { plugin: 'sayer', msg: 'changed; live in about 70 s, or now with: svc plugins reload sayer' },
  ])
  expect(word(home)).toBe('one')
})

it('an edit replaces the plugin, and nothing of the old version stays', async () => {
  await using home = await testHost({ plugins: { 'sayer.ts': saying('one') } })
  const before = stateOf(home, 'sayer')
  expect(outcomeLines(await drop(home, { 'sayer.ts': saying('two') }))).toEqual(['sayer: reloaded'])
  expect(word(home)).toBe('two')
  const after = stateOf(home, 'sayer')
  expect(after?.registered).toEqual(before?.registered)
  expect(after).toMatchObject({ state: 'live', error: null, swaps: 1, swap_ms: expect.any(Number) })
  expect(after?.swapped_at).toBe(home.clock.now().toISOString())
})

it('only changed content is reloaded: neither a touched file nor one rewritten with the same content', async () => {
  const plugins = { 'sayer.ts': saying('one'), 'other.ts': source('other') }
  await using home = await testHost({ plugins })
  const ran = runs(home)
  await utimes(join(home.root, 'plugins/sayer.ts'), new Date(0), new Date(0))
  expect(await drop(home, { 'other.ts': plugins['other.ts'] })).toEqual([])
  expect(runs(home)).toBe(ran)
  expect(outcomeLines(await drop(home, { 'sayer.ts': saying('two') }))).toEqual(['sayer: reloaded'])
  expect(runs(home)).toBe(ran + 1)
})

it('a plugin reloaded by name is reloaded even if unchanged, and no other is', async () => {
  await using home = await testHost({ plugins: { 'sayer.ts': saying('one'), 'other.ts': source('other') } })
  await home.write({ 'plugins/other.ts': source('other', '// changed'), 'plugins/new.ts': source('new') })
  expect(outcomeLines(await home.kernel.host.apply('sayer'))).toEqual(['sayer: reloaded'])
  expect(outcomeLines(await home.kernel.host.apply()).sort()).toEqual(['new: loaded', 'other: reloaded'])
})

it('two saves between two checks are one reload', async () => {
  await using home = await testHost({
    builtins: [memoryScheduler(['ada']).plugin],
    plugins: { 'sayer.ts': saying('one') },
  })
  await home.write({ 'plugins/sayer.ts': saying('two') })
  await runHeartbeats(home, 4)
  await home.write({ 'plugins/sayer.ts': saying('three') })
  await runHeartbeats(home, 6)
  await until(() => word(home) === 'three')
  expect(stateOf(home, 'sayer')?.swaps).toBe(1)
})

it('a deleted file removes its plugin with all that it registered', async () => {
  await using home = await testHost({ plugins: { 'sayer.ts': saying('one'), 'bad.ts': 'export default 7' } })
  await rm(join(home.root, 'plugins/sayer.ts'))
  await rm(join(home.root, 'plugins/bad.ts'))
  expect(outcomeLines(await home.kernel.host.apply())).toEqual(['sayer: removed'])
  expect(word(home)).toBeUndefined()
  expect(home.kernel.host.list()).toEqual([])
})

it('a renamed file stays the same plugin, and hands over its state', async () => {
  const counter = source(
    'counter',
    `let count = svc.previous ?? 0; svc.on('beat', () => { count++ }); svc.handOver(() => count); svc.provide({ name: 'word' }, count)`,
    'state: z.number(),',
  )
  await using home = await testHost({ plugins: { 'one.ts': counter } })
  await home.kernel.hooks.emit('beat', { beat: 1 })
  await rename(join(home.root, 'plugins/one.ts'), join(home.root, 'plugins/two.ts'))
  expect(outcomeLines(await home.kernel.host.apply())).toEqual(['counter: reloaded'])
  expect(stateOf(home, 'counter')?.origin).toBe(join(home.root, 'plugins/two.ts'))
  expect(word(home)).toBe(1)
})

it('a renamed file that is bad as well leaves nothing of the old version', async () => {
  await using home = await testHost({ plugins: { 'one.ts': saying('one') } })
  await rm(join(home.root, 'plugins/one.ts'))
  const bad = source('sayer', "throw new Error('no luck')")
  expect(outcomeLines(await drop(home, { 'two.ts': bad })).sort()).toEqual(['sayer: failed', 'sayer: removed'])
  expect(word(home)).toBeUndefined()
})

it('a plugin that gets another name in its file is replaced under the new name', async () => {
  await using home = await testHost({ plugins: { 'one.ts': saying('one', 'ann') } })
  expect(outcomeLines(await drop(home, { 'one.ts': saying('two', 'ben') }))).toEqual(['ben: reloaded'])
  expect(home.kernel.host.list().map(({ name }) => name)).toEqual(['ben'])
  expect(word(home)).toBe('two')
})

it('a folder is one plugin with its own files; a change of any of its sources reloads it', async () => {
  const index = `import { definePlugin } from 'svc'
    import { word } from './lib/word.ts'
    import more from './more.json'
    export default definePlugin({ name: 'sayer', setup(svc) { svc.provide({ name: 'word' }, word + more.suffix) } })`
  const plugins = {
    'sayer/index.ts': index,
    'sayer/lib/word.ts': "export const word = 'one'",
    'sayer/more.json': '{ "suffix": "!" }',
    'sayer/README.md': 'notes',
  }
  await using home = await testHost({ plugins })
  expect(word(home)).toBe('one!')
  expect(outcomeLines(await drop(home, { 'sayer/lib/word.ts': "export const word = 'two'" }))).toEqual([
    'sayer: reloaded',
  ])
  expect(outcomeLines(await drop(home, { 'sayer/more.json': '{ "suffix": "?" }' }))).toEqual(['sayer: reloaded'])
  expect(word(home)).toBe('two?')
  expect(await drop(home, { 'sayer/README.md': 'other notes', 'sayer/data.log': 'it writes here' })).toEqual([])
})

it('a change of a shared file reloads only the plugins that import it, also indirectly', async () => {
  await using home = await testHost({
    plugins: {
      'lib/word.ts': "export const word: string = 'one'",
      'lib/shout.ts': "import { word } from './word.ts'\nexport const shout = word + '!'",
      'sayer.ts': `import { shout } from './lib/shout'\n${source('sayer', "svc.provide({ name: 'word' }, shout)")}`,
      'other.ts': source('other'),
    },
  })
  expect(word(home)).toBe('one!')
  expect(outcomeLines(await drop(home, { 'lib/word.ts': "export const word: string = 'two'" }))).toEqual([
    'sayer: reloaded',
  ])
  expect(word(home)).toBe('two!')
})

it('a file that is written in three pieces, 50 ms apart, is never loaded half-written', async () => {
  await using home = await testHost({ clock: 'system', plugins: { 'sayer.ts': saying('one') } })
  const whole = `${saying('two')}\n${'// more\n'.repeat(20)}svc.complete()\n`.replace('svc.complete()', '')
  const file = join(home.root, 'plugins/sayer.ts')
  const third = Math.ceil(whole.length / 3)
  await writeFile(file, whole.slice(0, third))
  const applied = home.kernel.host.apply()
  for (const at of [1, 2]) {
    await sleep(50)
    await appendFile(file, whole.slice(at * third, (at + 1) * third))
  }
  expect(outcomeLines(await applied)).toEqual(['sayer: reloaded'])
  expect(word(home)).toBe('two')
  expect(home.log.filter(({ level }) => level >= 50)).toEqual([])
  expect(runs(home)).toBe(2)
})

it('a file that changes while it is being loaded is not taken live', async () => {
  const file = 'plugins/sayer.ts'
  await using home = await testHost({ plugins: { 'sayer.ts': saying('one') } })
  const rewriting = `import { writeFileSync } from 'node:fs'
writeFileSync(${JSON.stringify(join(home.root, file))}, ${JSON.stringify(saying('three'))})
${saying('two')}`
  expect(outcomeLines(await drop(home, { 'sayer.ts': rewriting }))).toEqual(['sayer: failed'])
  expect(stateOf(home, 'sayer')?.error).toMatch(/changed while it was loaded; it is loaded again at the next check/)
  expect(word(home)).toBe('one')
  expect(outcomeLines(await home.kernel.host.apply())).toEqual(['sayer: reloaded'])
  expect(word(home)).toBe('three')
})

const ESM = { takes: (file: string) => `import word from '${file}'`, gives: 'export default' }
const CJS = { takes: (file: string) => `const word = require('${file}')`, gives: 'module.exports =' }
it.each([
  ['an ES module', 'sayer.mjs', '_word.mjs', ESM, ESM],
  ['CommonJS', 'sayer.cjs', '_word.cjs', CJS, CJS],
  ['a package of ES modules', 'sayer.js', '_word.js', ESM, ESM, 'module'],
  ['a package of CommonJS', 'sayer.js', '_word.js', CJS, CJS, 'commonjs'],
  ['TypeScript with CommonJS beside it', 'sayer.ts', '_word.cjs', ESM, CJS],
])('an edit takes effect in the file and in what it imports: %s', async (_, file, helper, own, its, type = '') => {
  const plugin = (count: string) =>
    `${own.takes(`./${helper}`)}
     ${own.gives} { name: 'sayer', setup(svc) { svc.provide({ name: 'word' }, '${count} ' + word.said) } }`
  const help = (said: string) => `${its.gives} { said: '${said}' }`
  await using home = await testHost({ files: { 'package.json': JSON.stringify({ type }) } })
  await drop(home, { [file]: plugin('one'), [helper]: help('word') })
  expect(word(home)).toBe('one word')
  expect(outcomeLines(await drop(home, { [helper]: help('words') }))).toEqual(['sayer: reloaded'])
  expect(word(home)).toBe('one words')
  expect(outcomeLines(await drop(home, { [file]: plugin('two') }))).toEqual(['sayer: reloaded'])
  expect(word(home)).toBe('two words')
})

it('modules that import each other see what is there so far, whichever runs first', async () => {
  const ring = (name: string, next: string) =>
    `import * as next from './${next}'\nexport const name = '${name}'\nexport const names = () => name + ' ' + next.name`
  await using home = await testHost()
  const sayer = `import { names } from './_a.mjs'\n${source('sayer', "svc.provide({ name: 'word' }, names())")}`
  const files = { 'sayer.ts': sayer, '_a.mjs': ring('a', '_b.ts'), '_b.ts': ring('b', '_a.mjs') }
  expect(outcomeLines(await drop(home, files))).toEqual(['sayer: loaded'])
  expect(word(home)).toBe('a b')
})

it('a symbolic link to a folder is a plugin like any other', async () => {
  await using home = await testHost({ files: { 'elsewhere/index.ts': saying('one') } })
  await mkdir(join(home.root, 'plugins'))
  await symlink(join(home.root, 'elsewhere'), join(home.root, 'plugins/sayer'))
  expect(outcomeLines(await home.kernel.host.apply())).toEqual(['sayer: loaded'])
  await home.write({ 'elsewhere/index.ts': saying('two') })
  expect(outcomeLines(await home.kernel.host.apply())).toEqual(['sayer: reloaded'])
  expect(word(home)).toBe('two')
})

it('a file that can no longer be read is reported with the reason, and its plugin stays live', async () => {
  await using home = await testHost({ plugins: { 'sayer.ts': saying('one') } })
  const file = join(home.root, 'plugins/sayer.ts')
  await rm(file)
  await symlink(join(home.root, 'nowhere.ts'), file)
  expect(outcomeLines(await home.kernel.host.apply())).toEqual(['sayer: failed'])
  expect(stateOf(home, 'sayer')).toMatchObject({ state: 'live', error: expect.stringContaining('ENOENT') })
  expect(word(home)).toBe('one')
  expect(await home.kernel.host.apply()).toEqual([])
  await home.write({ 'nowhere.ts': saying('two') })
  expect(outcomeLines(await home.kernel.host.apply())).toEqual(['sayer: reloaded'])
  expect(word(home)).toBe('two')
})

it('temporary files of editors, hidden files, type declarations and tests are not plugins', async () => {
  await using home = await testHost()
  const names = ['.sayer.ts.swp', '.#sayer.ts', 'sayer.ts~', '#sayer.ts#', '4913', 'sayer.ts.tmp', '_part.ts', 'a.d.ts']
  const tests = ['sayer.test.ts', 'sayer.spec.ts', 'sayer.test.mjs']
  const bad = "throw new Error('ran all the same')"
  expect(await drop(home, Object.fromEntries([...names, ...tests].map(name => [name, bad])))).toEqual([])
  expect(runs(home)).toBe(0)
})

it('an editor that saves to a second file and renames it makes one edit', async () => {
  await using home = await testHost({ plugins: { 'sayer.ts': saying('one') } })
  const file = join(home.root, 'plugins/sayer.ts')
  await rename(file, `${file}~`)
  await writeFile(`${file}.tmp`, saying('two'))
  await rename(`${file}.tmp`, file)
  expect(outcomeLines(await home.kernel.host.apply())).toEqual(['sayer: reloaded'])
  expect(word(home)).toBe('two')
})

it('a plugin folder that is created later is watched too', async () => {
  await using home = await testHost()
  await mkdir(join(home.root, '.svc/plugins/deep'), { recursive: true })
  await using handle = await open(join(home.root, '.svc/plugins/deep/index.ts'), 'w')
  await handle.writeFile(saying('hello'))
  expect(outcomeLines(await home.kernel.host.apply())).toEqual(['sayer: loaded'])
})

it.each([
  ['enabled: false', []],
  ['allowlist: [sayer]', ['sayer: loaded']],
  ['allowlist: [other.ts]', ['other: loaded']],
  ['disabled: [other]', ['sayer: loaded']],
])('plugins.%s applies to files that are dropped in while the program runs', async (setting, expected) => {
  await using home = await testHost({ config: `plugins:\n  ${setting}\n` })
  expect(outcomeLines(await drop(home, { 'sayer.ts': saying('x'), 'other.ts': source('other') }))).toEqual(expected)
  expect(await home.kernel.host.listChanged()).toEqual([])
})

it('each execution of a file is logged before it runs', async () => {
  await using home = await testHost({ plugins: { 'sayer.ts': saying('one') } })
  await drop(home, { 'sayer.ts': `${saying('two')}\nthrow new Error('no luck')` })
  const lines = home.logged('runs ')
  expect(lines).toMatchObject([
    { plugin: 'sayer', msg: `runs ${home.root}/plugins/sayer.ts` },
    { plugin: 'sayer', msg: `runs ${home.root}/plugins/sayer.ts` },
  ])
})
