import { spawn } from 'node:child_process'
import { appendFile, readdir, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { CommandTree } from '#interfaces/cli/contract'
import { Store } from '#platform/store/contract'
import { insertTodo } from '#tools/toolkits/task/repository'
import { Svc } from '../../embed/embed.ts'
import { RunningSvc } from '../support/cli.ts'
import { modelServer, toolCall } from '../support/model/model-server.ts'
import { tempDir } from '../support/temp.ts'
import { svc } from '../support/vitest/warm.ts'
import { tmux, withTmux } from './daemon/tmux.ts'
import { FAST, project } from './project.ts'

const PROGRAM = join(process.cwd(), 'dist/svc.js')
const line = (msg: string, rest: Record<string, unknown> = {}) =>
  `${JSON.stringify({ level: 30, time: '2026-01-02T03:04:05.000Z', msg, ...rest })}\n`

describe('svc logs', () => {
  it('prints the last lines in readable form, filtered by agent or level, or raw with --json', async () => {
    const text = line('one') + line('two', { agent_id: 'coder-1' }) + line('bad\x1b[2J', { level: 50 })
    await using dir = await project({ 'logs/svc.log.1': line('earlier'), 'logs/svc.log': text })
    const logs = async (...words: string[]) => (await svc(['logs', ...words], { cwd: dir.path })).stdout
    expect((await logs()).replaceAll(/^\S+ /gm, '')).toBe('earlier\none\ncoder-1 two\nerror bad\\x1b[2J\n')
    expect(await logs('-n', '1', '--agent', 'coder')).toMatch(/^\S+ coder-1 two\n$/)
    expect(await logs('--level', 'error', '--json')).toBe(line('bad\x1b[2J', { level: 50 }))
  })

  it('finds the lines of an agent by its name', async () => {
    await using dir = await project()
    const spawned = await svc(['spawn', 'coder', '--name', 'parser', '--json'], { cwd: dir.path })
    const { agent_id } = JSON.parse(spawned.stdout)
    await dir.write({ 'logs/svc.log': line('one', { agent_id: 'coder-1' }) + line('two', { agent_id }) })
    const { stdout } = await svc(['logs', '--agent', 'parser'], { cwd: dir.path })
    expect(stdout).toMatch(new RegExp(`^\\S+ ${agent_id} two\n$`))
  })

  it('-f follows the log into a new file, and Ctrl-C ends it with 130', async () => {
    await using dir = await project({ 'logs/svc.log': line('one') })
    const log = join(dir.path, 'logs/svc.log')
    await using followed = new RunningSvc(['logs', '-f', '-n', '1'], { cwd: dir.path })
    await followed.waitForOutput(/one\n/)
    await appendFile(log, line('two'))
    await followed.waitForOutput(/two\n/)
    await rename(log, `${log}.1`)
    await dir.write({ 'logs/svc.log': line('three') })
    await followed.waitForOutput(/three\n/)
    expect(await followed.end('SIGINT')).toBe(130)
    expect(followed.stdout.match(/one|two|three/g)).toEqual(['one', 'two', 'three'])
  })
})

it('svc sessions and svc tasks say how many of other users they leave out', async () => {
  await using dir = await project(FAST)
  await using home = await Svc.open(dir.path, { roles: ['cli'], log: { level: 'silent' } })
  await home.kernel.invoke('agents.spawn', { preset: 'coder' })
  await home.kernel.invoke('tasks.run', { id: 'coder', instruction: 'Count.' })
  const print = async (...words: string[]) => (await svc(words, { cwd: dir.path })).stdout
  for (const words of [['sessions'], ['tasks', 'coder']]) expect(await print(...words)).not.toContain('other users')
  for (const tenant of ['ada', 'bob'])
    await home.kernel.invoke('tasks.run', { id: 'coder', instruction: 'Count.' }, { tenant })
  expect(await print('sessions')).toMatch(/^Not listed: 2 sessions of other users \(X-Svc-User over HTTP\)\.\nsess-/)
  expect(await print('tasks', 'coder')).toMatch(/^Not listed: 2 tasks of other users/)
})

it('lists show the name of the agent beside its id', async () => {
  await using dir = await project(FAST)
  await using home = await Svc.open(dir.path, { roles: ['cli'], log: { level: 'silent' } })
  const ask = (name: string, input: object) => home.kernel.invoke(name, input)
  const { agent_id } = (await ask('agents.spawn', { preset: 'coder', name: 'ada' })) as { agent_id: string }
  await ask('sessions.create', { agent_id })
  await ask('schedules.add', { id: agent_id, objective: 'Count.', every: 3600 })
  await ask('alarms.set', { id: agent_id, at: 'in 5 minutes', description: 'Count.' })
  await ask('approvals.grant', { tool_name: 'file_write', agent: agent_id, uses: 1 })
  const todo = { task_id: 'task-1', agent_id, description: 'Count.', priority: 'low', due_date: null } as const
  await home.kernel.use(Store).apply([insertTodo(todo)])
  for (const words of ['sessions', 'schedules', 'alarms', 'approvals rules', 'todos']) {
    const { stdout } = await svc(words.split(' '), { cwd: dir.path })
    expect(stdout, words).toContain(`${agent_id} (ada)  `)
  }
})

it('svc tasks and svc events show a cancelled task as cancelled', async () => {
  await using dir = await project({ '.svc/config.yaml': 'model:\n  sim_delay: 30\n' })
  await using home = await Svc.open(dir.path, { roles: ['cli'], log: { level: 'silent' } })
  await home.kernel.invoke('agents.spawn', { preset: 'coder' })
  const input = { id: 'coder', instruction: 'Count.', wait: false }
  const { task_id } = (await home.kernel.invoke('tasks.run', input)) as { task_id: string }
  await home.kernel.invoke('tasks.cancel', { task_id })
  const { stdout } = await svc(['tasks', 'coder'], { cwd: dir.path })
  expect(stdout).toMatch(new RegExp(`^${task_id}  \\S+  cancelled  `))
  const events = await svc(['events', '--type', 'task_ended'], { cwd: dir.path })
  expect(events.stdout).toContain(`${task_id}: cancelled`)
})

it("a plugin's command takes a date as text, and refuses other text", async () => {
  const source = `import { definePlugin, z } from 'svc'
export default definePlugin({ name: 'tides', setup: svc => svc.operation({ name: 'tides.at', summary: 'Show a tide',
  input: z.object({ day: z.coerce.date(), until: z.coerce.date().optional(), raw: z.unknown().optional() }),
  output: z.string(), cli: { usage: 'tides <day>' }, render: text => text,
  run: ({ day, until, raw }) => [day.toISOString(), until?.getTime(), raw?.n].join(' ') }) })`
  await using dir = await project({ 'plugins/tides.ts': source })
  const tides = (...words: string[]) => svc(['tides', ...words], { cwd: dir.path })
  const shown = await tides('2026-01-31', '--until', '1970-01-01', '--raw', '{"n":5}')
  expect(shown, shown.stderr).toMatchObject({ code: 0, stdout: '2026-01-31T00:00:00.000Z 0 5\n' })
  const refused = await tides('soon')
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect(refused.stderr).toMatch(/day: /)
})

describe('svc help and svc config validate', () => {
  it('list each command once, also where a plugin has replaced its module', async () => {
    const { commands } = JSON.parse(await readFile('dist/commands.json', 'utf8')) as CommandTree
    const replaced = commands.filter(({ operation }) => operation?.name.startsWith('memory.'))
    const wave = { ...replaced[0]!, operation: { ...replaced[0]!.operation!, name: 'wave.show' }, path: ['wave'] }
    const tree = JSON.stringify({ version: '', commands: [...replaced, wave], modules: [], exits: {} })
    await using dir = await project({ '.svc/commands.json': tree })
    const { stdout } = await svc(['help', '--all'], { cwd: dir.path })
    const lines = stdout.split('\n').filter(line => line.startsWith('  '))
    expect(lines.filter(line => /^ {2}(wave|memory) /.test(line))).toHaveLength(replaced.length + 1)
    expect(lines).toHaveLength(new Set(lines).size)
  })

  it("give each required argument and option of a plugin's command in the example", async () => {
    const source = `import { definePlugin, z } from 'svc'
export default definePlugin({ name: 'stock', setup: svc => svc.operation({ name: 'stock.put', summary: 'Store an item',
  input: z.object({ bay: z.number().min(3), item: z.string(), count: z.number(), sealed: z.boolean(),
    listed: z.boolean().default(true), note: z.string().optional() }),
  output: z.unknown(), cli: { usage: 'stock <bay> <item...>' }, run: input => input }) })`
    await using dir = await project({ 'plugins/stock.ts': source })
    const stock = (...words: string[]) => svc(['stock', ...words], { cwd: dir.path })
    const { stdout } = await stock('--help')
    expect(stdout).toContain('svc stock <bay> <item...> --count <number> --[no-]sealed [options]\n')
    expect(stdout).toMatch(/^ {2}--\[no-\]listed +\(default: true\)$/m)
    expect(stdout).toContain('Example:\n  svc stock 3 item --count 1 --sealed\n')
    const given = ['3', 'item', '--count', '1', '--no-listed']
    expect(JSON.parse((await stock(...given, '--no-sealed', '--json')).stdout)).toMatchObject({
      listed: false,
      sealed: false,
    })
    expect((await stock(...given, '--sealed=false')).stderr).toContain('write --sealed or --no-sealed')
  })

  it('explain commands and exit codes, and report errors in the configuration file', async () => {
    await using dir = await project({ '.svc/config.yaml': 'daemon:\n  hartbeat: 3\n' })
    const logs = async (...words: string[]) => {
      const { code, stdout } = await svc(words, { cwd: dir.path })
      return { code, stdout }
    }
    expect((await logs('help', 'exit-codes')).stdout).toMatch(/^ {2}130 +Ended by Ctrl-C/m)
    expect((await logs('help', 'goals', 'abandon')).stdout).toMatch(/^svc goals abandon[\s\S]*See also:\n {2}goals/)
    expect(await logs('config', 'validate')).toMatchObject({ code: 1, stdout: expect.stringContaining('hartbeat') })
    await dir.write({ '.svc/config.yaml': 'daemon:\n  heartbeat: 3\n' })
    expect(await logs('config', 'validate', '--json')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('true'),
    })
    for (const text of ['daemon:\n  heartbeat: soon\n', 'daemon: [\n']) {
      await dir.write({ '.svc/config.yaml': text })
      for (const words of [['config', 'validate'], ['status'], ['config', 'set', 'seed', '1']]) {
        const { code, stdout, stderr } = await svc(words, { cwd: dir.path })
        expect({ words, code, stdout }).toEqual({ words, code: 2, stdout: '' })
        expect(stderr).toContain('.svc/config.yaml:2: ')
      }
      expect(await readFile(join(dir.path, '.svc/config.yaml'), 'utf8')).toBe(text)
    }
  })
})

describe('svc agent chat', () => {
  it('keeps one session across calls, shows tools and history, and ends with its input', async () => {
    await using dir = await project({ '.svc/config.yaml': 'model:\n  sim_delay: 0\n' })
    await svc(['spawn', 'coder'], { cwd: dir.path })
    const chat = async (text: string) => {
      const child = spawn(process.execPath, [PROGRAM, 'agent', 'chat', 'coder'], { cwd: dir.path })
      let printed = ''
      child.stdout.on('data', part => {
        printed += part
      })
      child.stdin.end(text)
      const code = await new Promise(done => child.once('close', done))
      return { code, output: printed }
    }
    const first = await chat('/session\nSay hello\n')
    expect(first.code).toBe(0)
    expect(first.output).toMatch(/hello/)
    const [session] = first.output.split('\n')
    const second = await chat('/session\n/history\n/tools\n/quit\n')
    expect(second.output.startsWith(`${session}\nuser: Say hello\nassistant: `)).toBe(true)
    expect(second.output).toMatch(/^finish_goal {2}|^file_read {2}/m)
  })
})

describe('svc run', () => {
  it('shows why a run failed, with exit code 1', async () => {
    await using dir = await project({})
    // The discard port: nothing listens there.
    const env = { OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' }
    const logs = (...words: string[]) => svc(words, { cwd: dir.path, env })
    const { agent_id } = JSON.parse((await logs('spawn', 'coder', '--json')).stdout) as { agent_id: string }
    const failed = await logs('run', agent_id, 'What is it?')
    expect(failed.code).toBe(1)
    const why = 'failed: The model openai gave no answer: http://127.0.0.1:9/v1 is not reachable'
    expect(failed.stderr).toContain(why)
    const waited = await logs('task', 'run', agent_id, 'What is it?')
    expect(waited).toMatchObject({ code: 1, stdout: expect.stringContaining(why) })
    expect(await logs('task', 'run', agent_id, 'What is it?', '--json')).toMatchObject({ code: 1 })
  })

  it('says what a task without an answer did when its steps were used up, and how to continue it', async () => {
    const model = await modelServer({ script: () => ({ ...toolCall('recall', { query: 'x' }), text: 'Let me see.' }) })
    onTestFinished(() => model.close())
    await using dir = await project({})
    const env = { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'k', OPENAI_MODEL: 'scripted' }
    const run = (...words: string[]) => svc(words, { cwd: dir.path, env })
    const { agent_id } = JSON.parse((await run('spawn', 'coder', '--json')).stdout) as { agent_id: string }
    const end =
      /^max_steps: the task ended without an answer after 1 step and 1 tool call; .*: svc run <agent> "Go on\." --session-id (\S+)$/m
    const { code, stdout, stderr } = await run('run', agent_id, 'What is it?', '-m', '1')
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'Let me see.\n' })
    const waited = await run('task', 'run', agent_id, 'What is it?', '-m', '1')
    expect(waited.stdout).toMatch(end)
    expect(waited.stdout.startsWith('Let me see.\n\n')).toBe(true)
    await run('run', agent_id, 'Go on.', '--session-id', end.exec(stderr)![1]!, '-m', '1')
    expect(model.requests.at(-1)!.prompt).toContain('What is it?')
  })
})

describe('svc new project and svc init', () => {
  it('svc new project creates a folder with the presets of a template, and refuses a folder that is not empty', async () => {
    await using dir = await tempDir({ 'taken/file': 'x' })
    const made = await svc(['new', 'project', 'mine', '--template', 'team'], { cwd: dir.path })
    expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining('cd mine && svc serve') })
    expect((await readdir(join(dir.path, 'mine/profiles'))).sort()).toEqual([
      'coder.yaml',
      'reviewer.yaml',
      'tester.yaml',
    ])
    const taken = await svc(['new', 'project', 'taken'], { cwd: dir.path })
    expect(taken).toMatchObject({ code: 1, stderr: expect.stringContaining('is not empty') })
    expect(await readdir(join(dir.path, 'taken'))).toEqual(['file'])
    expect((await svc(['new', 'project', '../x'], { cwd: dir.path })).code).toBe(2)
  })

  it.skipIf(!withTmux)(
    'svc init asks two questions at a terminal, and writes the answers to the configuration',
    async () => {
      await using dir = await tempDir()
      await using terminal = await tmux(
        dir.path,
        { columns: 100, rows: 30 },
        `${process.execPath} ${PROGRAM} init; echo "left with $?"; cat`,
      )
      await terminal.shows(/Which model should agents call/)
      await terminal.type('ollama:llama3.2', 'Enter')
      await terminal.shows(/may spend, in US dollars/)
      await terminal.type('5', 'Enter')
      await terminal.shows(/left with 0/)
      const config = await readFile(join(dir.path, '.svc/config.yaml'), 'utf8')
      expect(config).toMatch(/^daemon:\n {2}budget_usd: 5$/m)
      expect(config).toMatch(/^model:\n {2}default_model: "ollama:llama3.2"$/m)
      expect((await svc(['config', 'validate'], { cwd: dir.path })).code).toBe(0)
    },
  )
})
