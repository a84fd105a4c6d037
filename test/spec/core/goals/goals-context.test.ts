import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Context as AgentContext } from '#core/goals/views/context-window'
import { Store } from '#platform/store/contract'
import { BUILTINS } from '../../../../builtins/index.ts'
import {
  type ModelServerRequest,
  refuse,
  runHeartbeat,
  testHost,
  text,
  together,
  toolCall,
} from '../../../support/index.ts'
import { tokensIn } from '../../../support/model/wire-rules.ts'
import { finish, goalAnswer } from '../../safety/approvals-host.ts'
import { asksForGoal, detail, goalsOf, spawn, testHostWithModel } from '../models/model-host.ts'
import { firstEnded } from './summary-host.ts'

const FILES = 200
const WINDOW = `models: { "openai:scripted": { context_window: 32000 } }\n`
const fact = (n: number) => `The colour of number ${n} is ${['red', 'green', 'blue'][n % 3]}${n * 7}.`
const contents = (n: number) => `${fact(n)}\n${'Nothing of note stands here. '.repeat(700)}`

/**
 * Reads all files in turn and says which wanted facts it has just read, then reads those again whose facts its prompt no
 * longer holds.
 */
function reader(wanted: readonly number[]) {
  let next = 1
  return (request: ModelServerRequest) => {
    if (asksForGoal(request)) return goalAnswer(request.prompt.includes('Recent goals') ? '' : 'Read all files')
    const { role, content } = request.body.messages.at(-1)!
    const found = role === 'tool' ? wanted.map(fact).filter(each => content?.includes(each)) : []
    const missing = next <= FILES ? next++ : wanted.find(n => !request.prompt.includes(fact(n)))
    return missing === undefined
      ? finish(wanted.map(fact).join(' '))
      : together(text(found.join(' ')), toolCall('file_read', { path: `f${missing}.txt` }))
  }
}

it('an agent that reads 200 files of 20 kB in one goal with a window of 32k finishes with each wanted fact', async () => {
  await using home = await testHostWithModel(reader([1, 2, 77, 200]), {
    files: { 'models.yaml': WINDOW, 'profiles/worker.yaml': 'name: worker\nrole: reads\nmax_steps: 10\n' },
    config: { daemon: { pursuit_transcript_max_messages: 1_000 } },
    serving: { window: 32_000 },
  })
  const id = await spawn(home)
  const workspace = join(home.root, '.svc/workspaces', id)
  await mkdir(workspace, { recursive: true })
  for (let n = 1; n <= FILES; n++) await writeFile(join(workspace, `f${n}.txt`), contents(n))
  const goal = await firstEnded(home, id)
  expect(goal.result).toBe([1, 2, 77, 200].map(fact).join(' '))
  expect(home.server.refusals).toEqual([])
  expect(home.server.requests.length).toBeGreaterThan(FILES)
  const compactions = await home.kernel
    .use(Store)
    .all<{ data: string }>("SELECT data FROM events WHERE type = 'context_compacted'")
  expect(compactions.length).toBeGreaterThan(1)
  const reported = compactions.map(({ data }) => JSON.parse(data) as { how: string })
  expect(reported[0]).toMatchObject({ model: 'openai:scripted', window: 32_000 })
  const others = reported.map(({ how }) => how).filter(how => how !== 'summary')
  expect(others, 'each way is reported once').toEqual([...new Set(others)])
})

it('a goal whose smallest request is refused ends with the reason, and its agent carries on', async () => {
  let goals = 0
  await using home = await testHostWithModel(request => {
    if (asksForGoal(request)) return goalAnswer(`Try number ${++goals}`)
    return request.prompt.includes('Try number 1')
      ? refuse(400, "This model's maximum context length is 2048 tokens.")
      : finish('The second works.')
  })
  const id = await spawn(home)
  await firstEnded(home, id)
  await runHeartbeat(home)
  const ended = await goalsOf(home, id)
  expect(ended.map(({ status }) => status)).toContain('completed')
  expect(ended.find(({ status }) => status === 'abandoned')!.result).toMatch(/maximum context length is 2048 tokens/)
  expect(await detail(home, id)).toMatchObject({ waiting_for: null })
  const sizes = home.server.requests
    .filter(request => !asksForGoal(request) && request.prompt.includes('Try number 1'))
    .map(({ body }) => tokensIn(body))
  expect(sizes.length).toBeLessThanOrEqual(3)
})

it('a pursuit that resumes after an answer without a call asks the model to call finish_goal', async () => {
  const steps = [toolCall('file_write', { path: 'a.md', content: 'a' }), text('I think that is all.'), finish()]
  await using home = await testHostWithModel(
    request =>
      asksForGoal(request)
        ? goalAnswer(request.prompt.includes('Recent goals') ? '' : 'Write a page of words')
        : (steps.shift() ?? finish()),
    { files: { 'profiles/worker.yaml': 'name: worker\nrole: writes\nmax_steps: 2\n' } },
  )
  const id = await spawn(home)
  const goal = await firstEnded(home, id)
  expect(home.server.refusals).toEqual([])
  const last = home.server.requests.filter(request => !asksForGoal(request)).at(-1)!
  expect(last.body.messages.at(-1)).toMatchObject({ role: 'user', content: expect.stringMatching(/finish_goal/) })
  expect(goal).toMatchObject({ status: 'completed' })
})

it.each([
  { window: 4_096, conversation: 0.3, answer: 0.15 },
  { window: 8_192, conversation: 0.4, answer: 0.2 },
])('every preset leaves its conversation and its answer enough of a window of $window tokens', async wanted => {
  const { window } = wanted
  await using home = await testHost({
    builtins: BUILTINS,
    roles: ['cli'],
    files: { 'models.yaml': `models: { "openai:scripted": { context_window: ${window} } }\n` },
    env: { OPENAI_API_KEY: 'none', SVC_DEFAULT_MODEL: 'openai:scripted' },
  })
  for (const { name } of (await home.kernel.invoke('profiles.list')) as { name: string }[]) {
    const id = await spawn(home, name)
    const { sections } = (await home.kernel.invoke('goals.context', { id })) as AgentContext
    const { system, tools, answer } = sections
    expect((window - system - tools - answer) / window, name).toBeGreaterThan(wanted.conversation)
    expect(answer / window, name).toBeGreaterThan(wanted.answer)
  }
})

it('the operator sees the size of the next request by section, and the window of its model', async () => {
  await using home = await testHostWithModel(reader([]), {
    files: { 'models.yaml': WINDOW, 'profiles/worker.yaml': 'name: worker\nrole: reads\nmax_steps: 20\n' },
    config: { daemon: { pursuit_transcript_max_messages: 1_000 } },
  })
  const id = await spawn(home)
  const workspace = join(home.root, '.svc/workspaces', id)
  await mkdir(workspace, { recursive: true })
  for (let n = 1; n <= FILES; n++) await writeFile(join(workspace, `f${n}.txt`), contents(n))
  home.kernel.heartbeat.start()
  const contextOf = async () => (await home.kernel.invoke('goals.context', { id })) as AgentContext
  expect(await contextOf()).toMatchObject({ goal_id: null, window: 32_000, cleared: 0, sections: { messages: 0 } })
  for (let n = 0; n < 20 && (await contextOf()).cleared === 0; n++) await runHeartbeat(home)
  const { sections, total, window, ...rest } = await contextOf()
  const { system, tools, messages, answer } = sections
  expect(total).toBe(system + tools + messages + answer)
  expect(total).toBeLessThanOrEqual(window)
  expect(Math.min(system, tools, messages, answer)).toBeGreaterThan(100)
  expect(rest.cleared).toBeGreaterThan(0)
  // Compares with the provider's count, as closely as an estimate allows.
  const sent = home.server.bill.length
  await runHeartbeat(home)
  const { input_tokens } = home.server.bill[sent]!
  expect(Math.abs(system + tools + messages - input_tokens) / input_tokens).toBeLessThan(0.5)
})
