import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Operations } from '#kernel'
import notifications from '#observability/notifications/index'
import { lineOf } from '#observability/notifications/message'
import daemon from '#platform/daemon/index'
import type { DaemonStatus } from '#platform/daemon/shape'
import settings from '#platform/settings/index'
import { appendEvent, Store } from '#platform/store/contract'
import { BUILTINS } from '../../../builtins/index.ts'
import { project } from '../../cli/project.ts'
import { RunningSvc, runHeartbeat, svc, type TestHost, testHost, until } from '../../support/index.ts'
import { httpServer } from '../../support/model/http.ts'
import { AGENT_MODULES, rows, spawn } from '../core/models/model-host.ts'

interface Received {
  type: string | undefined
  body: string
}

/** A receiver of notifications, and what it received; it answers with `status`. */
async function receiver() {
  const received: Received[] = []
  const answers = { status: 200 }
  const { url, close } = await httpServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    received.push({ type: request.headers['content-type'], body })
    response.writeHead(answers.status, { location: '/elsewhere' }).end('ok')
  })
  return { received, answers, url: `${url}/hook`, [Symbol.asyncDispose]: close }
}

let hook: Awaited<ReturnType<typeof receiver>>
let home: TestHost

const happen = (type: string, agent_id: string | null, data: Record<string, unknown> = {}) =>
  home.kernel.use(Store).apply([appendEvent({ type, agent_id, data: { ...(agent_id ? { agent_id } : {}), ...data } })])
const open = async (section: object = {}) => {
  home = await testHost({
    builtins: [...AGENT_MODULES, daemon, settings, notifications],
    files: { 'profiles/ann.yaml': 'name: ann\nrole: waits\nown_goals: false\n' },
    config: { notifications: { url: hook.url, ...section } },
  })
}
/** Waits until the first heartbeat has noted where notifications begin. */
const begun = () =>
  until(async () => {
    const noted = await rows(home, "SELECT value FROM plugin_values_view WHERE namespace = 'notifications'")
    return noted.length > 0
  })
const ask = (agent: string, question: string) =>
  happen('question_asked', agent, { question_id: 'q-1', goal_id: null, task_id: null, question })

beforeEach(async () => {
  hook = await receiver()
})
afterEach(async () => {
  await home.close()
  await hook[Symbol.asyncDispose]()
})

describe('notifications', () => {
  it('send what needs the operator at the next heartbeat, once, with the command to go on', async () => {
    await open({ url: '' })
    const ann = await spawn(home, 'ann')
    home.kernel.heartbeat.start()
    await ask(ann, 'Before notifications were set up?')
    await home.kernel.invoke('config.set', { key: 'notifications.url', value: hook.url })
    await runHeartbeat(home)
    await begun()
    expect(hook.received).toEqual([])
    await ask(ann, 'Which branch?')
    await happen('goal_completed', ann, { goal_id: 'goal-1' })
    await happen('budget_exceeded', null, { spent_usd: 5, spent_tokens: 12_000 })
    await runHeartbeat(home)
    await until(() => hook.received.length === 1)
    const [{ type, body }] = hook.received as [Received]
    expect(type).toBe('application/json')
    const lines = [
      `${ann} asks: Which branch? (svc questions show q-1)`,
      'the budget is used up: $5.0000 and 12,000 tokens spent (svc budget)',
    ]
    expect(JSON.parse(body)).toMatchObject({
      text: lines.join('\n'),
      events: [
        { type: 'question_asked', agent_id: ann, text: lines[0] },
        { type: 'budget_exceeded', agent_id: null, text: lines[1] },
      ],
    })
    await runHeartbeat(home)
    expect(hook.received).toHaveLength(1)
  })

  it.each([
    ['chat', 'application/json', (body: string) => JSON.parse(body) as object],
    ['text', 'text/plain; charset=utf-8', (body: string) => ({ text: body })],
  ] as const)('have the form %s, and the types of events that are configured', async (format, type, read) => {
    await open({ format, events: ['goal_completed'] })
    const ann = await spawn(home, 'ann')
    home.kernel.heartbeat.start()
    await begun()
    await ask(ann, 'Which branch?')
    await happen('goal_completed', ann, { goal_id: 'goal-1' })
    await runHeartbeat(home)
    await until(() => hook.received.length === 1)
    expect(hook.received[0]!.type).toBe(type)
    expect(read(hook.received[0]!.body)).toEqual({ text: `${ann} completed goal-1 (svc goals show goal-1)` })
  })

  it('let no text of an agent add a line, a link or a mention in a chat', async () => {
    await open({ format: 'chat' })
    await begun()
    const id = await spawn(home, 'ann')
    await ask(id, 'Now?\nbob died\u202e <https://evil.test|svc approvals> [svc](https://evil.test) @everyone <!here>')
    await runHeartbeat(home)
    await until(() => hook.received.length > 0)
    const { text } = JSON.parse(hook.received[0]!.body) as { text: string }
    expect(text).toContain(
      'asks: Now? bob died ‹https://evil.test|svc approvals› [svc] (https://evil.test) @ everyone ‹!here›',
    )
  })

  it('name commands that exist', async () => {
    home = await testHost({ builtins: BUILTINS })
    const commands = home.kernel.points.list(Operations).flatMap(({ value: { cli = [] } }) => [cli].flat())
    const paths = commands.map(({ usage }) => usage.split(' <')[0])
    const types = ['approval_requested', 'question_asked', 'budget_exceeded', 'goal_completed', 'goal_abandoned']
    for (const type of [...types, 'task_ended']) {
      const data = { approval_id: 'X', question_id: 'X', goal_id: 'X', task_id: 'X' }
      const event = { seq: 1, v: 1, type, at: '', agent_id: 'ann', cycle_num: null, run_id: null, data }
      expect(paths, type).toContain(/\(svc ([a-z ]*[a-z])[ )]/.exec(lineOf(event, ''))![1])
    }
  })

  it('have a link to the dashboard if the address of the server is set', async () => {
    home = await testHost({
      builtins: BUILTINS,
      files: { 'profiles/ann.yaml': 'name: ann\nrole: waits\nown_goals: false\n' },
      config: { notifications: { url: hook.url, format: 'text' }, a2a: { public: { url: 'https://svc.example/' } } },
    })
    const ann = await spawn(home, 'ann')
    home.kernel.heartbeat.start()
    await begun()
    await happen('approval_requested', ann, { approval_id: 'appr-1', tool: 'file_write' })
    await ask(ann, 'Which branch?')
    await runHeartbeat(home)
    await until(() => hook.received.length === 1)
    expect(hook.received[0]!.body.split('\n')).toEqual([
      expect.stringMatching(/ \(svc approvals show appr-1\) https:\/\/svc\.example\/#\/approvals\/item\/appr-1$/),
      `${ann} asks: Which branch? (svc questions show q-1) https://svc.example/#/agents/${ann}`,
    ])
  })

  it('are sent again later when the receiver fails, which the status of the daemon reports', async () => {
    await open()
    const ann = await spawn(home, 'ann')
    home.kernel.heartbeat.start()
    await begun()
    hook.answers.status = 302
    for (let n = 0; n < 25; n++) await ask(ann, `Number ${n}?`)
    const problems = async () => ((await home.kernel.invoke('daemon.status')) as DaemonStatus).problems
    await until(async () => {
      await home.clock.advance(10_000)
      return (await problems()).length > 0
    })
    expect(hook.received).toHaveLength(3)
    expect(await problems()).toEqual([expect.stringContaining('the receiver answered HTTP 302')])
    expect(home.logged('was not accepted')).toHaveLength(3)
    const failed = hook.received.length
    hook.answers.status = 204
    // A clock that is set back must not delay it.
    home.clock.jump(-12 * 3_600_000)
    const began = home.clock.monotonic()
    await until(async () => {
      await home.clock.advance(60_000)
      return hook.received.length > failed
    })
    expect(home.clock.monotonic() - began).toBeLessThan(3_600_000)
    const { text } = JSON.parse(hook.received.at(-1)!.body) as { text: string }
    expect([
      text.includes('Number 4?'),
      text.includes('Number 5?'),
      text.endsWith('Earlier ones: svc summary'),
    ]).toEqual([false, true, true])
    await until(async () => (await problems()).length === 0)
  })
})

describe('svc notifications test', () => {
  it('sends one from the command line, and says what is wrong', async () => {
    await open()
    await using dir = await project()
    const test = (...words: string[]) => svc(['notifications', 'test', ...words], { cwd: dir.path })
    expect((await test()).stderr).toContain('svc config set notifications.url')
    const bad = await svc(['config', 'set', 'notifications.url', 'hooks.example'], { cwd: dir.path })
    expect(bad.stderr).toContain('must be an http or https URL')
    expect((await svc(['config', 'set', 'notifications.url', hook.url], { cwd: dir.path })).code).toBe(0)
    expect((await test()).stdout).toMatch(/^sent \(HTTP 200\): This is a test/)
    hook.answers.status = 404
    const refused = await test()
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('the receiver answered HTTP 404')])
    const shown = await svc(['config', 'get', 'notifications.url'], { cwd: dir.path })
    expect(shown.stdout).not.toContain('127.0.0.1')
    await svc(['config', 'set', 'daemon.heartbeat', '600'], { cwd: dir.path })
    await using running = new RunningSvc(['start'], { cwd: dir.path })
    await running.waitForOutput(/PID/)
    expect((await test()).code).toBe(1)
    await using other = await receiver()
    await svc(['config', 'set', 'notifications.url', other.url], { cwd: dir.path })
    expect((await test()).stdout, 'before the next heartbeat').toMatch(/^sent \(HTTP 200\)/)
    expect(other.received).toHaveLength(1)
  })
})
