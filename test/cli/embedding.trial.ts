import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, expectTypeOf, it, onTestFinished } from 'vitest'
import { systemPorts } from '#lib/system-ports'
import {
  AgentNotFoundError,
  definePlugin,
  ProfileNotFoundError,
  RunNotFoundError,
  StructuredParseError,
  Svc,
  SvcDaemon,
  type SvcOptions,
  TaskGoesOnError,
  type TaskOptions,
  TaskResponse,
  tool,
  z,
} from '../../index.ts'
import { install, ROOT, tsc } from '../spec/authors.ts'
import { asksForGoal } from '../spec/core/models/model-host.ts'
import { RunningSvc } from '../support/cli.ts'
import { fault, modelServer, type Reply, refuse, type Script, text } from '../support/model/model-server.ts'
import { tempDir } from '../support/temp.ts'
import { until } from '../support/until.ts'
import { FAST, project } from './project.ts'

const log = { level: 'silent' }
const WORKER = { 'profiles/worker.yaml': 'name: worker\nrole: does what the script says\n' }

/** Opens a new project in this process, whose agents are simulated. */
async function openProject(options: SvcOptions = {}, files: Readonly<Record<string, string>> = {}) {
  const dir = await tempDir()
  await dir.write({ ...FAST, ...WORKER, ...files })
  const svc = await Svc.open(dir.path, { log, ...options })
  onTestFinished(async () => {
    await svc.close()
    await dir[Symbol.asyncDispose]()
  })
  return svc
}

/** Opens such a project whose agents call a scripted model. */
async function openScripted(script: Script | readonly Reply[], files: Readonly<Record<string, string>> = {}) {
  const server = await modelServer({ script })
  onTestFinished(() => server.close())
  const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted' }
  return { svc: await openProject({ ports: { env } }, files), server }
}

/** A tool that needs approval, as a program would add it. */
const post = definePlugin({
  name: 'post',
  setup(svc) {
    const parameters = z.object({ to: z.string() })
    const send = { name: 'post_letter', description: 'Posts a letter.', parameters, requires_approval: true }
    svc.toolkit({ name: 'post', tools: [tool({ ...send, execute: ({ to }) => `sent to ${to}` })] })
  },
})
const SEND = { id: 'call-1', name: 'post_letter', arguments: '{"to":"ann"}' }

/** TypeScript configuration for a Node program. */
const TSCONFIG = JSON.stringify({
  compilerOptions: {
    target: 'es2022',
    lib: ['es2023', 'esnext.disposable'],
    module: 'nodenext',
    strict: true,
    noEmit: true,
    types: ['node'],
    exactOptionalPropertyTypes: true,
  },
  include: ['*.ts'],
})

/** Runs a file as a separate program. */
async function program(cwd: string, file: string) {
  const child = spawn(process.execPath, [file], { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', text => {
      said[name] += text
    })
  }
  const [code] = (await once(child, 'close')) as [number]
  return { code, ...said }
}

describe('a project opened by an embedding program', () => {
  it('fails to open in a folder without a project, says how to make one, and creates nothing there', async () => {
    await using dir = await tempDir()
    await expect(Svc.open(dir.path, { log })).rejects.toMatchObject({
      code: 'no_project',
      message: `There is no project in ${dir.path}; make one with "svc init", or pass create: true to Svc.open`,
    })
    expect(await readdir(dir.path)).toEqual([])
    await using svc = await Svc.open(dir.path, { log, create: true })
    expect(await svc.status()).toEqual([])
  })

  it('says why it cannot make a project, and which options are wrong', async () => {
    await using dir = await tempDir()
    const denied = Object.assign(new Error('EROFS: read-only file system'), { code: 'EROFS', path: '/srv/.svc' })
    const files = { ...systemPorts().files, mkdir: () => Promise.reject(denied) }
    await expect(Svc.open(dir.path, { log, create: true, ports: { files } })).rejects.toMatchObject({
      code: 'cannot_write',
      message:
        '/srv/.svc cannot be written: the file system is read-only; remount it for writing, or choose a folder on another file system.',
    })
    await expect(Svc.open(dir.path, { log: { level: 'loud' }, create: true })).rejects.toThrow(
      'log.level: must be one of',
    )
    expect(await readdir(dir.path)).toEqual([])
    await expect(Svc.open('/proc/x', { create: true, log })).rejects.toMatchObject({ code: 'cannot_write' })
    await dir.write({ 'a-file': '' })
    for (const taken of ['a-file', 'a-file/below']) {
      const message = expect.stringMatching(/a-file\S* cannot be written: a file exists where a folder is needed; move/)
      await expect(Svc.open(join(dir.path, taken), { create: true, log })).rejects.toMatchObject({ message })
    }
    await expect(Svc.open(undefined as never, { log })).rejects.toThrow(
      'The folder of Svc.open is not valid: is missing.',
    )
  })

  it('spawns agents, runs them once started, and ends everything with the block', async () => {
    await using dir = await project(FAST)
    const goals: string[] = []
    {
      await using svc = await Svc.open(dir.path, { log })
      svc.hooks.on('goal_completed', ({ goal_id }) => goals.push(goal_id))
      const agent = await svc.spawn('coder')
      expect(agent).toMatchObject({ name: 'coder', status: 'idle' })
      expect(await svc.status()).toMatchObject([{ agent_id: agent.agent_id }])
      await svc.start()
      await until(() => goals.length > 0)
      expect(await svc.daemon.status()).toMatchObject({ running: true, pid: process.pid })
    }
    await using again = await Svc.open(dir.path, { log })
    expect(await again.daemon.status()).toMatchObject({ running: false, health: 'stopped' })
  })

  it('can be closed before the block ends, and more than once', async () => {
    await using dir = await project(FAST)
    await using svc = await Svc.open(dir.path, { log })
    await svc.start()
    await Promise.all([svc.close(), svc.close()])
    await svc.close()
    const asked = [svc.status(), svc.run('coder', 'Hello'), svc.start(), svc.stream('coder', 'Hello').next()]
    for (const asking of asked) await expect(asking).rejects.toThrow('The project is closed in this process')
  })

  it('ends the streams of its events when it is closed', async () => {
    await using dir = await project(FAST)
    await using svc = await Svc.open(dir.path, { log })
    const events = await svc.invoke('events.follow', {})
    expect((await events.next()).value).toMatchObject({ event: 'open' })
    const next = events.next()
    await svc.close()
    expect(await next).toMatchObject({ done: true })
  })

  it.each(['stop', 'close'] as const)('leaves no daemon behind after a %s during the start', async end => {
    await using dir = await project(FAST)
    await using svc = await Svc.open(dir.path, { log })
    const starting = svc.start()
    await svc[end]()
    await starting
    await using again = await Svc.open(dir.path, { log })
    expect(await again.daemon.status()).toMatchObject({ running: false, health: 'stopped' })
    await again.start()
  })

  it('cannot be started while another process is the daemon', async () => {
    await using dir = await project(FAST)
    await using daemon = new RunningSvc(['start'], { cwd: dir.path })
    await daemon.waitForOutput(/^Logs: /m)
    await using svc = await Svc.open(dir.path, { log })
    await expect(svc.start()).rejects.toThrow(`PID ${daemon.pid}`)
  })

  it('starts its daemon whatever lies at the path of the PID file', async () => {
    await using dir = await project(FAST)
    const file = join(dir.path, '.svc/daemon.pid')
    const places = [
      () => writeFile(file, ''),
      () => writeFile(file, 'not a pid\n'),
      () => writeFile(file, `${process.pid}\n`),
      () => symlink('/etc/passwd', file),
      () => mkdir(file),
    ]
    for (const put of places) {
      await put()
      await using daemon = await Svc.open(dir.path, { log })
      await daemon.start()
      expect(await daemon.daemon.status()).toMatchObject({ running: true, pid: process.pid })
      await daemon.stop()
      await rm(file, { recursive: true, force: true })
    }
    await access('/etc/passwd')
  })

  it('nudges, lists and kills agents by id or name', async () => {
    const svc = await openProject()
    const { agent_id } = await svc.spawn('worker', { name: 'ada', model: 'sim', goal: 'Write about tides.' })
    expect(await svc.nudge('ada', 'Write about the sea.')).toEqual({ nudge_id: expect.stringMatching(/^nudge-/) })
    expect(await svc.status()).toMatchObject([{ agent_id, name: 'ada', status: 'idle', goal: 'Write about tides.' }])
    await svc.kill(agent_id)
    expect(await svc.status()).toEqual([])
  })

  it('throws specific error classes for missing profiles, agents and runs', async () => {
    const svc = await openProject()
    await expect(svc.spawn('nobody')).rejects.toThrow(ProfileNotFoundError)
    for (const asking of [svc.nudge('nobody', 'Hello'), svc.kill('nobody'), svc.run('nobody', 'Do it.')]) {
      await expect(asking).rejects.toThrow(AgentNotFoundError)
    }
    await expect(svc.inspect()).rejects.toThrow(RunNotFoundError)
    await expect(svc.inspect()).rejects.toThrow('There are no runs yet')
    await expect(svc.inspect('run-1')).rejects.toThrow(RunNotFoundError)
  })

  it('invokes every operation by its name, for a user, with its types', async () => {
    const svc = await openProject()
    const { agent_id } = await svc.spawn('worker')
    const goals = await svc.invoke('goals.list', { id: agent_id })
    expectTypeOf<(typeof goals)[number]['objective']>().toEqualTypeOf<string>()
    expect(goals).toEqual([])
    const { task_id } = await svc.run(agent_id, 'Say how you are.', { user: 'ada' })
    expect(await svc.invoke('tasks.get', { task_id }, { tenant: 'ada' })).toMatchObject({ agent_id })
    await expect(svc.invoke('tasks.get', { task_id })).rejects.toThrow('of this user')
    await expect(svc.invoke('no.such')).rejects.toThrow('There is no operation "no.such"')
  })
})

describe('svc.start', () => {
  it('with a number of cycles resolves when each agent has run them and the daemon has stopped', async () => {
    const svc = await openProject({}, { '.svc/config.yaml': 'daemon:\n  heartbeat: 1\nmodel:\n  sim_delay: 0\n' })
    const cycles = new Map<string, number>()
    svc.hooks.on('cycle_end', ({ agent_id }) => cycles.set(agent_id, (cycles.get(agent_id) ?? 0) + 1))
    const agents = [await svc.spawn('worker'), await svc.spawn('worker')]
    await svc.invoke('agents.pause', { id: (await svc.spawn('worker')).agent_id })
    await svc.start({ cycles: 3 })
    expect([...cycles.keys()].sort()).toEqual(agents.map(({ agent_id }) => agent_id).sort())
    for (const { agent_id } of agents) expect(cycles.get(agent_id)).toBeGreaterThanOrEqual(3)
    expect(await svc.daemon.status()).toMatchObject({ running: false })
    const before = [...cycles.values()]
    await svc.start({ cycles: 1 })
    expect([...cycles.values()].every((count, n) => count > before[n]!)).toBe(true)
    expect(await svc.inspect()).toMatchObject({ kind: 'daemon', status: 'ended', agents: 2 })
  })

  it('waits for a cycle that takes longer than a heartbeat', async () => {
    let answer = () => {}
    const late = new Promise<void>(resolve => {
      answer = resolve
    })
    const { svc, server } = await openScripted(async request => {
      await late
      return asksForGoal(request) ? text('{"goal": "Tidy up the workspace"}') : text('Done.')
    })
    const { agent_id } = await svc.spawn('worker')
    const ended: string[] = []
    svc.hooks.on('cycle_end', ({ result }) => ended.push(result))
    const started = svc.start({ cycles: 1 })
    await server.request(1)
    const beats: number[] = []
    svc.hooks.on('beat', ({ beat }) => beats.push(beat))
    await until(() => beats.length > 2)
    answer()
    await started
    expect(ended[0]).toBe('generated')
    expect(await svc.invoke('goals.list', { id: agent_id })).toMatchObject([{ objective: 'Tidy up the workspace' }])
  })

  it('ends early when it is stopped, and accepts positive whole numbers of cycles only', async () => {
    const svc = await openProject()
    await svc.spawn('worker')
    const begun = new Promise(resolve => svc.hooks.on('beat', resolve))
    const started = svc.start({ cycles: 1_000_000 })
    await begun
    await svc.stop()
    await started
    expect(await svc.daemon.status()).toMatchObject({ running: false })
    for (const cycles of [0, 1.5, Number.NaN]) {
      await expect(svc.start({ cycles })).rejects.toMatchObject({ code: 'invalid_input' })
    }
  })

  it('lets a wake source wake agents before their heartbeat', async () => {
    const svc = await openProject(
      {},
      { '.svc/config.yaml': 'daemon: {heartbeat: 3600, min_rest: 0}\nmodel: {sim_delay: 0}\n' },
    )
    expect(svc.daemon).toBeInstanceOf(SvcDaemon)
    await svc.spawn('worker')
    let cycles = 0
    svc.hooks.on('cycle_end', () => ++cycles)
    let ring = (_: string) => {}
    const undo = svc.daemon.addWakeSource({
      name: 'bell',
      wait: signal =>
        new Promise(resolve => {
          ring = resolve
          signal.addEventListener('abort', () => resolve('gone'))
        }),
    })
    await svc.start()
    await until(() => cycles === 1)
    ring('the bell rang')
    await until(() => cycles === 2)
    await undo()
  })
})

describe('svc.hooks', () => {
  it('sends events to listeners until they are removed', async () => {
    const svc = await openProject()
    const reported: string[] = []
    const handler = ({ agent_id }: { agent_id: string }) => reported.push(agent_id)
    svc.hooks.on('agent_spawned', handler)
    svc.hooks.on('agent_spawned', handler)
    const { agent_id } = await svc.spawn('worker')
    await until(() => reported.length > 0)
    svc.hooks.off('agent_spawned', handler)
    let other = 0
    const undo = svc.hooks.on('agent_spawned', () => ++other)
    await svc.spawn('worker')
    await until(() => other === 1)
    await undo()
    expect(reported).toEqual([agent_id])
    expect(() => svc.hooks.on('agent_spwned' as 'agent_spawned', handler)).toThrow('agent_spawned')
    expect(() => svc.hooks.on('agent_spawned', agent_id as never)).toThrow('needs handler()')
  })

  it('lets guards block phases; a guard that fails blocks its phase unless it is registered as fail-open', async () => {
    const svc = await openProject()
    await svc.spawn('worker')
    const entered: string[] = []
    svc.hooks.on('phase_enter', ({ phase }) => entered.push(phase))
    const no = svc.hooks.registerGuard('goal_generation', { shouldProceed: async () => false })
    await svc.start({ cycles: 2 })
    expect(entered).toContain('context_assembly')
    expect(entered).not.toContain('goal_generation')
    await no()
    const fails = {
      shouldProceed: () => {
        throw new Error('broken')
      },
    }
    const closed = svc.hooks.registerGuard('goal_generation', fails)
    await svc.start({ cycles: 1 })
    expect(entered).not.toContain('goal_generation')
    await closed()
    svc.hooks.registerGuard('goal_generation', fails, { failClosed: false })
    await svc.start({ cycles: 1 })
    expect(entered).toContain('goal_generation')
    const nowhere = 'goal_generatoin' as 'goal_generation'
    expect(() => svc.hooks.registerGuard(nowhere, fails)).toThrow('goal_generation')
    const bare = (() => true) as never
    expect(() => svc.hooks.registerGuard('goal_generation', bare)).toThrow('needs shouldProceed()')
  })
})

describe('svc.run, svc.parse and svc.stream', () => {
  it.each(['is not started', 'is started'])('continue a task after the decision while the project %s', async state => {
    const config = 'daemon: {heartbeat: 3600}\napproval: {enabled: true}\ntasks: {toolkits: [comms, post]}\n'
    const script: Script = ({ prompt }) => {
      if (!prompt.includes('Write to Ann.')) return text('{"goal": null}')
      return prompt.includes('sent to ann') ? text('It is sent.') : text('', { tool_calls: [SEND] })
    }
    const { svc } = await openScripted(script, { '.svc/config.yaml': config })
    await svc.kernel.host.add(post)
    if (state === 'is started') await svc.start()
    const { agent_id } = await svc.spawn('worker')
    const { task_id, status, approval_ids } = await svc.run(agent_id, 'Write to Ann.')
    expect(status).toBe('waiting_approval')
    await svc.invoke('approvals.decide', { approval_id: approval_ids[0]!, decision: 'approve' })
    await until(async () => (await svc.invoke('tasks.get', { task_id })).status === 'completed')
    expect((await svc.invoke('tasks.get', { task_id })).output).toBe('It is sent.')
  })

  const City = z.object({
    name: z.string(),
    inhabitants: z
      .number()
      .int()
      .refine(n => n > 100_000, 'must be a large city'),
  })
  const city = (inhabitants: number) => text(JSON.stringify({ name: 'Bern', inhabitants }))

  it('run returns a typed object of a zod schema, after one repair by the rules of the schema', async () => {
    const { svc, server } = await openScripted([city(1), city(137_000)])
    const { agent_id } = await svc.spawn('worker')
    const { parsed, status, task_id } = await svc.run(agent_id, 'Which city?', { schema: City })
    expectTypeOf(parsed).toEqualTypeOf<{ name: string; inhabitants: number } | null>()
    expect({ parsed, status }).toEqual({ parsed: { name: 'Bern', inhabitants: 137_000 }, status: 'completed' })
    expect(server.requests[1]!.prompt).toContain('must be a large city')
    expect(await svc.invoke('tasks.get', { task_id })).toMatchObject({ steps_taken: 2, parsed })
    expect(await svc.inspect()).toMatchObject({ kind: 'task', task_id })
  })

  it('run without a schema returns a TaskResponse, and refuses unknown options', async () => {
    const { svc } = await openScripted([text('Bern.')])
    const { agent_id } = await svc.spawn('worker')
    const options = { toolkits: ['memory'], maxSteps: undefined, sessionKey: undefined, signal: undefined }
    const answer = await svc.run(agent_id, 'Which city?', options)
    expect(await svc.invoke('tasks.get', { task_id: answer.task_id })).toMatchObject({ toolkits: ['memory'] })
    expect(answer).toEqual(TaskResponse.parse(answer))
    const misspelt = { maxStep: 1 } as TaskOptions
    await expect(svc.run(agent_id, 'Which city?', misspelt)).rejects.toThrow('maxStep: is not a known field')
  })

  it('parse throws a StructuredParseError with what was said, or the error of the task', async () => {
    const { svc } = await openScripted(({ n }) => (n <= 2 ? text('Bern, of course.') : refuse(400, 'no')))
    const { agent_id } = await svc.spawn('worker')
    const error = await svc.parse(agent_id, 'Which city?', City).catch(thrown => thrown)
    expect(error).toBeInstanceOf(StructuredParseError)
    expect(error).toMatchObject({ raw: 'Bern, of course.', message: expect.stringContaining('no JSON object') })
    await expect(svc.parse(agent_id, 'Which city?', City)).rejects.toMatchObject({ code: 'model_error' })
  })

  it('a run with a key goes on when its caller aborts, and throws a TaskGoesOnError', async () => {
    let answer = () => {}
    const asked = new Promise<void>(resolve => {
      answer = resolve
    })
    const { svc, server } = await openScripted(() => asked.then(() => text('Bern.')))
    const { agent_id } = await svc.spawn('worker')
    const abort = new AbortController()
    const key = { idempotencyKey: 'once' }
    const running = svc.run(agent_id, 'Which city?', { ...key, signal: abort.signal })
    await server.request(1)
    abort.abort()
    await expect(running).rejects.toThrow(TaskGoesOnError)
    answer()
    expect(await svc.run(agent_id, 'Which city?', key)).toMatchObject({ status: 'completed', output: 'Bern.' })
    expect(server.requests).toHaveLength(1)
  })

  it('stream delivers tokens while the run goes on, and ends the run when its reader leaves', async () => {
    const { svc, server } = await openScripted(({ n }) =>
      n === 1 ? text('It is Bern.') : fault('stall', 'It is the city of the bears'),
    )
    const { agent_id } = await svc.spawn('worker')
    let said = ''
    for await (const { event, data } of svc.stream(agent_id, 'Which city?')) {
      if (event === 'token') said += data.text
      if (event === 'done') expect(data).toMatchObject({ status: 'completed', output: said })
    }
    expect(said).toBe('It is Bern.')
    for await (const _ of svc.stream(agent_id, 'Which city?')) break
    expect(await server.requests[1]!.ended).toBe('dropped')
  })
})

describe('the package in an external program', () => {
  it('has types for the embedding API, and code that does not match them fails to compile', async () => {
    await using dir = await project()
    await install(dir.path, 'svc', '@types/node')
    const program = `import { Agent, AgentNotFoundError, createClient, MissingDependencyError, ProfileNotFoundError, StructuredParseError, Svc, SvcDaemon, tool, z } from 'svc'
      await using svc = await Svc.open('.')
      const { agent_id } = await svc.spawn('coder')
      await svc.nudge(agent_id, 'Hello')
      svc.hooks.on('goal_completed', ({ agent_id, goal_id }) => console.log(agent_id.length + goal_id.length))
      svc.hooks.registerGuard('goal_pursuit', { shouldProceed: ({ at }) => at.getHours() > 8 })
      const daemon: SvcDaemon = svc.daemon
      daemon.addWakeSource({ name: 'bell', wait: async signal => String(signal.aborted) })
      await svc.start({ cycles: 2 })
      const City = z.object({ name: z.string(), age: z.number() })
      const { parsed } = await svc.run(agent_id, 'Which city?', { schema: City })
      const years: number | undefined = parsed?.age
      const hello = tool({ name: 'hello', description: 'Says hello.', parameters: z.object({ to: z.string() }), execute: ({ to }) => to.length })
      const agent = new Agent({ model: 'sim', tools: [hello], maxSteps: 5, onApproval: ({ tool_name }) => tool_name === 'hello' })
      for await (const event of agent.stream('Hello', { schema: City })) if (event.type === 'done') console.log(event.result.parsed?.name)
      const { name } = await agent.parse('Which city?', City)
      const classes = [AgentNotFoundError, MissingDependencyError, ProfileNotFoundError, StructuredParseError]
      const client = createClient({ baseUrl: 'http://127.0.0.1:8000' })
      console.log(years, name.length, classes.length, (await client.agents.list()).length, (await svc.invoke('goals.list', { id: agent_id })).length)`
    const wrong = `import { Agent, Svc, z } from 'svc'
      const svc = await Svc.open('.')
      svc.start({ cycles: 'two' })
      svc.invoke('goals.list', { agent: 'coder' })
      svc.hooks.on('goal_compleeted', () => {})
      new Agent({ max_steps: 5 })
      const { parsed } = await new Agent().run('x', { schema: z.object({ a: z.string() }) })
      parsed.a`
    const guide = await readFile(join(ROOT, 'docs/embedding.md'), 'utf8')
    const shown = [...guide.matchAll(/```ts\n(.*?)```/gs)].map(([, code], n) => [`guide${n}.ts`, code!])
    expect(shown).toHaveLength(3)
    await dir.write({
      ...Object.fromEntries(shown),
      'right.ts': program,
      'wrong.ts': wrong,
      'tsconfig.json': TSCONFIG,
      'package.json': '{"type": "module"}',
    })
    const { output } = await tsc(dir.path)
    expect([...output.matchAll(/^(\w+\.ts)\((\d+),/gm)].map(([, file, line]) => `${file} ${line}`)).toEqual(
      [3, 4, 5, 6, 8].map(line => `wrong.ts ${line}`),
    )
  })

  it('runs without its optional packages, and names the one that a model needs', async () => {
    await using dir = await tempDir()
    await dir.write({
      'none.mjs': `export const resolve = (name, context, next) => name.startsWith('@anthropic-ai/')
        ? Promise.reject(Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })) : next(name, context)`,
      'program.mjs': `import { register } from 'node:module'
        register('./none.mjs', import.meta.url)
        const { Agent, MissingDependencyError } = await import('svc')
        const agent = new Agent({ model: 'anthropic:claude-opus-4', ports: { env: { ANTHROPIC_API_KEY: 'k' } } })
        const error = await agent.run('Hello').catch(thrown => thrown)
        console.log(error instanceof MissingDependencyError, error.message)`,
    })
    await install(dir.path, 'svc')
    const ran = await program(dir.path, 'program.mjs')
    const stdout = expect.stringMatching(/^true .*"@anthropic-ai\/sdk"/)
    expect(ran).toEqual({ stdout, stderr: '', code: 0 })
  })

  it('exports the rest of each module at svc/<module>, with the same values as svc and its own types', async () => {
    await using dir = await tempDir({
      'program.mjs': `import { Agents, ProfileNotFoundError, z } from 'svc'
        import * as agents from 'svc/agents'
        import * as kernel from 'svc/kernel'
        import { pluralize } from 'svc/lib'
        import { Stressors } from 'svc/suffering'
        console.log(agents.Agents === Agents, kernel.z === z, pluralize(2, 'tide'), Stressors.name)`,
      'types.ts': `import type { AgentDetail } from 'svc/agents'
        import { Moods, type InnerState } from 'svc/suffering'
        export const load = (state: InnerState, agent: AgentDetail): number => state.load + agent.agent_id.length
        export const name: number = Moods.name`,
      'tsconfig.json': TSCONFIG,
      'package.json': '{"type": "module"}',
    })
    await install(dir.path, 'svc', '@types/node')
    const stdout = 'true true 2 tides stressors'
    expect(await program(dir.path, 'program.mjs')).toEqual({ stdout: `${stdout}\n`, stderr: '', code: 0 })
    const { output } = await tsc(dir.path)
    expect([...output.matchAll(/^\w+\.ts\(\d+,\d+\): .*/gm)].map(([line]) => line)).toEqual([
      expect.stringMatching(/^types\.ts\(4,\d+\): .*'string' is not assignable to type 'number'/),
    ])
  })

  it('goes on when its log cannot be written, and logs to standard error instead', async () => {
    await using dir = await project(FAST)
    await dir.write({
      'program.mjs': `import { Svc } from 'svc'
        const write = () => { throw new Error('the disk is full') }
        const svc = await Svc.open('.', { log: { write }, ports: { env: {} } })
        await svc.spawn('coder')
        await svc.start({ cycles: 1 })
        console.log((await svc.status()).length)
        await svc.close()`,
    })
    await install(dir.path, 'svc')
    expect(await program(dir.path, 'program.mjs')).toEqual({
      code: 0,
      stdout: '1\n',
      stderr: expect.stringContaining('plugins are live'),
    })
  })

  it.each([
    ['svc', `import { Agent } from 'svc'\nawait new Agent({ maxSteps: 0 }).run('Hello')`],
    [
      'svc/client',
      `import { createClient } from 'svc/client'\nawait createClient({ baseUrl: 'nowhere' }).agents.list()`,
    ],
  ])('ends a program that caught no error of %s with its message, and no page of code before it', async (_, text) => {
    await using dir = await tempDir({ 'program.mjs': text })
    await install(dir.path, 'svc')
    const { stderr, code } = await program(dir.path, 'program.mjs')
    const before = stderr.slice(0, stderr.search(/^\w+Error: /m))
    expect({ code, lines: before.split('\n').length }).toEqual({ code: 1, lines: 5 })
    expect(before.length).toBeLessThan(600)
  })
})

it('svc serve answers when tsx loads the package from a linked checkout', async () => {
  await using dir = await project(FAST)
  await mkdir(join(dir.path, 'node_modules'))
  await symlink(ROOT, join(dir.path, 'node_modules/svc'))
  const env = { NODE_OPTIONS: `--import ${import.meta.resolve('tsx')}` }
  const program = join(dir.path, 'node_modules/svc/dist/svc.js')
  await using server = new RunningSvc(['serve', '--port', '0'], { cwd: dir.path, env, program })
  const [, url] = await server.waitForOutput(/^API: +(\S+)\/openapi.json/m)
  expect((await fetch(`${url}/agents`)).status).toBe(200)
})
