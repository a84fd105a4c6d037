import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { RunningSvc } from '../support/cli.ts'
import type { TempDir } from '../support/temp.ts'
import { svc } from '../support/vitest/warm.ts'
import { project } from './project.ts'

/** Plugin whose commands take each kind of argument, and whose answers never depend on what agents do. */
const PLUGIN = `import { definePlugin, z } from 'svc'
const Said = z.object({ said: z.string(), items: z.array(z.object({ n: z.number(), text: z.string() })) })
export default definePlugin({
  name: 'parrot',
  setup(svc) {
    const input = z.object({
      word: z.string(), times: z.number().int().min(1).default(1), loud: z.boolean().default(false), tags: z.array(z.string()).default([]),
    })
    const run = ({ word, times, loud, tags }) => ({
      said: [loud ? word.toUpperCase() : word, ...tags].join(' '), items: Array.from({ length: times }, (_, n) => ({ n, text: word })),
    })
    svc.operation({ name: 'parrot.say', summary: 'Say it again', input, output: Said, run,
      http: { method: 'POST', path: '/parrot/{word}' }, cli: [{ usage: 'say <word>', short: { times: 't' } }, { usage: 'shout <word>', preset: { loud: true } }] })
    svc.operation({ name: 'parrot.ask', summary: 'Ask it', input, output: Said, run,
      http: { method: 'GET', path: '/parrot' }, cli: { usage: 'parrot ask <word>' }, render: ({ said }) => \`it says: \${said}\` })
    svc.operation({ name: 'parrot.repeat', summary: 'Repeat the last', input: input.partial(), output: z.string(), reach: 'daemon',
      http: { method: 'POST', path: '/repeat/{word}' }, cli: { usage: 'repeat [word]' }, run: ({ word = 'the last' }) => word })
    svc.operation({ name: 'parrot.sum', summary: 'Add numbers', input: z.object({ first: z.array(z.number()), more: z.array(z.number()).optional(), scale: z.object({ by: z.number() }).optional(), terms: z.array(z.object({ n: z.number() })).default([]) }), output: z.number(),
      http: { method: 'GET', path: '/sum' }, cli: { usage: 'sum <first...>' }, run: ({ first, more = [], scale = { by: 1 }, terms }) => scale.by * [...first, ...more, ...terms.map(({ n }) => n)].reduce((a, b) => a + b) })
    svc.operation({ name: 'parrot.greet', summary: 'Greet', input: z.object({ who: z.string().default('you') }), output: z.string(), reach: 'daemon',
      http: { method: 'GET', path: '/greet/{who}' }, cli: { usage: 'greet [who]' }, run: ({ who }) => who })
  },
})`

const WORDS = [
  ['say', 'a b/c?d=é', '-t', '2', '--loud', '--tags', 'x', '--tags', 'y', '--json'],
  ['say', 'hello', '--times', '2'],
  ['shout', 'hello'],
  ['parrot', 'ask', 'hello', '--times', '3', '--tags', 'x'],
  ['parrot', 'ask', 'a\x1b[2J\u202e'],
  ['sum', '1', '2.5', '--more', '3', '--more', '-4', '--scale', '{"by":10}', '--terms', '{"n":0.5}'],
  ['sum', '1', 'two'],
  ['say', 'hello', '--times', '0'],
  ['parrot', 'ask', 'hello', '--times', 'often'],
  ['agent', 'nobody'],
  ['pause'],
  ['resume', 'nobody', '--json'],
  ['spawn', 'nobody'],
  ['spawn', 'coder', '--model', 'no model'],
]

const answers = async (dir: TempDir) => {
  const said = []
  for (const words of WORDS) said.push({ words, ...(await svc(words, { cwd: dir.path })) })
  return said
}

describe('commands with a running daemon and without one', () => {
  it('give the same answers and the same errors', async () => {
    await using dir = await project({ 'plugins/parrot.ts': PLUGIN })
    const alone = await answers(dir)
    await using daemon = new RunningSvc(['start'], { cwd: dir.path })
    await daemon.waitForOutput(/^Logs: /m)
    expect(await answers(dir)).toEqual(alone)
    expect(alone.slice(0, 6).map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0])
    expect(alone[1]!.stdout).toBe('said  hello\n\nitems:\nN  TEXT\n0  hello\n1  hello\n')
    expect(alone[2]!.stdout).toContain('HELLO')
    expect(alone[4]!.stdout).toBe('it says: a\\x1b[2J\\u202e\n')
    expect(alone[5]!.stdout).toBe('30\n')
    expect(alone[6]!.stderr).toContain('<first> takes a number, not "two"')
    expect(alone.slice(6).map(({ code, stdout }) => [code, stdout])).toEqual([
      [2, ''],
      [2, ''],
      [2, ''],
      [1, ''],
      [2, ''],
      [1, ''],
      [1, ''],
      [2, ''],
    ])
    expect(await svc(['repeat'], { cwd: dir.path })).toMatchObject({ code: 0, stdout: 'the last\n' })
    expect(await svc(['repeat', 'it'], { cwd: dir.path })).toMatchObject({ code: 0, stdout: 'it\n' })
    expect(await svc(['greet'], { cwd: dir.path })).toMatchObject({ code: 0, stdout: 'you\n' })
  })

  it('name the disabled module to which a command belongs', async () => {
    await using dir = await project({ '.svc/config.yaml': 'plugins:\n  disabled: [budget, economy, sessions]\n' })
    await svc(['spawn', 'coder'], { cwd: dir.path })
    expect(await svc(['agent', 'chat', 'coder'], { cwd: dir.path })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('needs the module "sessions", which is disabled; to enable it'),
    })
    const ledger = ['ledger', '--json']
    const alone = [await svc(['budget'], { cwd: dir.path }), await svc(ledger, { cwd: dir.path })]
    expect(alone[0]).toMatchObject({
      code: 1,
      stderr:
        'svc: svc budget needs the module "budget", which is disabled; to enable it, remove it from the list plugins.disabled (svc config get plugins.disabled), then: svc restart\n',
    })
    expect(JSON.parse(alone[1]!.stderr.split('\n').at(-2)!).error).toMatchObject({
      code: 'module_disabled',
      status: 404,
    })
    await using daemon = new RunningSvc(['start'], { cwd: dir.path })
    await daemon.waitForOutput(/^Logs: /m)
    expect([await svc(['budget'], { cwd: dir.path }), await svc(ledger, { cwd: dir.path })]).toEqual(alone)
    expect((await svc(['plugins'], { cwd: dir.path })).stdout).toMatch(
      /^toolkit-world needs "economy", which is disab/m,
    )
  })

  it('name the disabled modules that diagnose problems', async () => {
    await using dir = await project({ '.svc/config.yaml': 'plugins:\n  disabled: [doctor, plugins-admin]\n' })
    const failures = async () => [
      (await svc(['doctor'], { cwd: dir.path })).stderr,
      (await svc(['plugins'], { cwd: dir.path })).stderr,
    ]
    const named = ['doctor', 'plugins-admin'].map(name =>
      expect.stringContaining(`needs the module "${name}", which is disabled`),
    )
    expect(await failures()).toEqual(named)
    await using daemon = new RunningSvc(['start'], { cwd: dir.path })
    await daemon.waitForOutput(/^Logs: /m)
    expect(await failures()).toEqual(named)
  })

  it('name the version of the daemon as the cause where it does not know a command', async () => {
    await using dir = await project()
    await using daemon = new RunningSvc(['start'], { cwd: dir.path })
    await daemon.waitForOutput(/^Logs: /m)
    const older = createServer(({ url }, response) => {
      const isList = url === '/plugins'
      response.writeHead(isList ? 200 : 404, { 'content-type': 'application/json' })
      response.end(JSON.stringify(isList ? [] : { code: 'not_found', detail: `There is no route at ${url}.` }))
    })
    await new Promise<void>(done => older.listen(join(dir.path, '.svc/older.sock'), done))
    const file = join(dir.path, '.svc/daemon.json')
    const holder = JSON.parse(await readFile(file, 'utf8'))
    await writeFile(file, JSON.stringify({ ...holder, socket: 'older.sock' }))
    const { code, stderr } = await svc(['summary'], { cwd: dir.path })
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        'svc: The daemon gave no valid response: it does not know this command, as an older version may; restart it with: svc restart.\n',
    })
    await writeFile(file, JSON.stringify(holder))
    older.close()
  })
})
