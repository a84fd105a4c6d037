import { LLMock } from '@copilotkit/aimock'
import { describe, expect, it, onTestFinished, test } from 'vitest'
import { Store } from '#platform/store/contract'
import {
  type Answer,
  runHeartbeat,
  type TestHostOptions,
  text,
  together,
  toolCall,
  until,
  waitUntilIdle,
} from '../../../support/index.ts'
import {
  decide,
  finish,
  goalAnswer,
  recordingTools,
  results,
  testHostWithApprovals,
  waitForPendingCall,
} from '../../safety/approvals-host.ts'
import { asksForGoal, detail, goalsOf, spawn, testHostWithModel } from './model-host.ts'
import { QUICK, testHostForModels } from './models-host.ts'

/** Pursues one goal with these answers, then finishes it. */
async function pursueGoal(...given: (Answer | Pick<TestHostOptions, 'files'>)[]) {
  const { runs, plugin } = recordingTools()
  const left = given.filter(each => 'kind' in each)
  const options = given.filter(each => !('kind' in each))
  const home = await testHostWithModel(
    request =>
      asksForGoal(request)
        ? goalAnswer(request.prompt.includes('Recent') ? '' : 'Look at something')
        : (left.shift() ?? finish()),
    { ...options[0], builtins: [plugin] },
  )
  const id = await spawn(home)
  home.kernel.heartbeat.start()
  await until(home, 'cycle_end', ({ result }) => result !== 'generated')
  await waitUntilIdle(home)
  return Object.assign(home, { id, runs, goal: (await goalsOf(home, id))[0] })
}

describe('mistakes of a model', () => {
  it('broken arguments with a single meaning run as they were meant, and the log lists the repairs', async () => {
    const broken = `Arguments: {'n': "3", text: 'it's',}`
    await using home = await pursueGoal(toolCall('Look', broken))
    expect(home.runs).toEqual([{ tool: 'look', args: { n: 3, text: "it's" } }])
    const [line] = home.logged('an invalid call of look was repaired')
    const mended = [
      'apostrophes',
      'number_from_text',
      'prose_around',
      'single_quotes',
      'trailing_commas',
      'unquoted_keys',
    ]
    expect(line).toMatchObject({ agent_id: home.id, repaired: ['name_spelling', ...mended] })
    const asked = home.server.requests.at(-1)!.body.messages.flatMap(({ tool_calls = [] }) => tool_calls)
    expect(JSON.stringify(asked)).not.toContain('repaired')
    expect(home.goal?.status).toBe('completed')
  })

  it.each([
    ['a text that was cut', '{"n": 1, "text": "rm -rf /tmp/bu'],
    ['a number that may have had more digits', '{"n": 1'],
    ['two objects', '{"n": 1} {"n": 2}'],
    ['a path that may hold escapes', '{"text": "C:\\Users\\new"}'],
  ])('arguments with several meanings (%s) do not run, and the model gets the schema', async (_, args) => {
    await using home = await pursueGoal(toolCall('look', args))
    expect(home.runs).toEqual([])
    expect(results(home.server)[0]).toMatch(/not valid JSON.*was not run.*JSON Schema/)
    expect(home.goal).toMatchObject({ status: 'completed', steps_completed: 2 })
  })

  it('a misspelt tool name is answered with the right one', async () => {
    await using home = await pursueGoal(toolCall('lok', { n: 1 }))
    expect(home.runs).toEqual([])
    expect(results(home.server)[0]).toMatch(/there is no tool "lok"\. Did you mean look\?/)
  })

  it('an unknown tool name is answered with how to find others', async () => {
    await using home = await pursueGoal(toolCall('teleport', { n: 1 }))
    expect(results(home.server)[0]).toMatch(
      /there is no tool "teleport"\. There are: .*find_tools \(which finds others\)/,
    )
  })

  it('a text that imitates the mark of shortened calls does not run', async () => {
    await using home = await pursueGoal(toolCall('look', { n: 1, note: 'The beg[… 935 characters in all]' }))
    expect(home.runs).toEqual([])
    expect(results(home.server)[0]).toMatch(/removed from your view.*was not run.*Write the whole text/)
  })

  it('a tool name from another harness is answered with the one used here', async () => {
    await using home = await pursueGoal(toolCall('ReadFile', { path: 'a' }))
    expect(results(home.server)[0]).toMatch(/there is no tool "ReadFile"\. Did you mean file_read\?/)
  })

  it('a misspelt name of a tool that is not offered is answered with the right one', async () => {
    const files = { 'profiles/worker.yaml': 'name: worker\nrole: works\nmax_steps: 5\ncore: [notepad]\n' }
    const left = [toolCall('lok', { n: 1 })]
    await using home = await testHostWithModel(
      request =>
        asksForGoal(request)
          ? goalAnswer(request.prompt.includes('Recent') ? '' : 'Look at something')
          : (left.shift() ?? finish()),
      { builtins: [recordingTools().plugin], files },
    )
    await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'cycle_end', ({ result }) => result !== 'generated')
    expect(home.server.requests.at(-1)!.body.tools?.map(each => each.function.name)).not.toContain('look')
    expect(results(home.server)[0]).toMatch(/there is no tool "lok"\. Did you mean look\?/)
  })

  it('calls that the model writes into its text run', async () => {
    const said = 'I look.\n<tool_call>\n{"name": "look", "arguments": {"n": 1}}\n</tool_call>'
    await using home = await pursueGoal(text(said))
    expect(home.runs).toEqual([{ tool: 'look', args: { n: 1 } }])
    expect(home.goal).toMatchObject({ status: 'completed', unconfirmed: false })
  })

  it('calls in its text that name a tool of another harness, or one that is not offered now, are calls', async () => {
    const call = (name: string) => `<tool_call>\n{"name": "${name}", "arguments": {"n": 1}}\n</tool_call>`
    const files = { 'profiles/worker.yaml': 'name: worker\nrole: works\nmax_steps: 5\ncore: [notepad]\n' }
    const { runs, plugin } = recordingTools()
    const left = [text(call('write_file')), text(`[TOOL_CALLS]${'[{"name": "look", "arguments": {"n": 2}}]'}`)]
    await using home = await testHostWithModel(
      request =>
        asksForGoal(request)
          ? goalAnswer(request.prompt.includes('Recent') ? '' : 'Look at something')
          : (left.shift() ?? finish()),
      { builtins: [plugin], files },
    )
    await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'cycle_end', ({ result }) => result !== 'generated')
    expect(results(home.server)[0]).toMatch(/there is no tool "write_file"\. Did you mean file_write\?/)
    expect(runs).toEqual([{ tool: 'look', args: { n: 2 } }])
  })

  it('markup of a call that cannot be read is no answer, and the model is asked for the call', async () => {
    await using home = await pursueGoal(text('<tool_call>look at it</tool_call>'), toolCall('look', { n: 1 }))
    expect(home.runs).toEqual([{ tool: 'look', args: { n: 1 } }])
    expect(home.server.requests.at(-1)?.prompt).toContain('markup of a tool call that cannot be read')
  })

  it.each([
    ['are cut at their limit', text('', { finish_reason: 'length' }), /cut at max_tokens/],
    ['are empty', text(' '), /empty/],
    ['have markup of calls that cannot be read', text('<tool_call>look at it</tool_call>'), /cannot be read/],
    ['have only thoughts', text('', { reasoning: 'I look at it.' }), /thoughts only.*reasoning_effort/],
  ])('three answers in a row that %s end the cycle with that as its reason', async (_, answer, reason) => {
    await using home = await pursueGoal(answer, answer, answer)
    expect(home.server.requests).toHaveLength(4)
    expect((await detail(home, home.id)).error).toMatch(reason)
    expect(home.goal?.status).toBe('active')
  })

  it.each([
    [
      3,
      'cut within a call',
      (n: number) => ({ ...toolCall('look', `{"n": ${n}, "text": "It`), finish_reason: 'length' }),
      /cut at max_tokens \(4096\), within a tool call; raise max_tokens/,
    ],
    [5, 'calls of unknown tools', (n: number) => toolCall(`think_${n}`), /could run.*think_5: Error: there is no tool/],
    [
      5,
      'calls with invalid arguments',
      (n: number) => toolCall('look', { n: `no ${n}` }),
      /could run.*look: Error: n: /,
    ],
  ])('%i answers in a row that are %s end the cycle with that as its reason', async (most, _, answer, reason) => {
    const files = { 'profiles/worker.yaml': 'name: worker\nrole: works\nmax_steps: 20\n' }
    await using home = await pursueGoal({ files }, ...[1, 2, 3, 4, 5].map(answer))
    expect(home.runs).toEqual([])
    expect(home.server.requests).toHaveLength(1 + most)
    expect((await detail(home, home.id)).error).toMatch(reason)
    expect(home.goal?.status).toBe('active')
  })

  it('a call that runs between those that cannot lets the agent go on', async () => {
    const wrong = [1, 2, 3, 4].map(n => toolCall(`think_${n}`))
    const files = { 'profiles/worker.yaml': 'name: worker\nrole: works\nmax_steps: 20\n' }
    await using home = await pursueGoal({ files }, ...wrong, toolCall('look', { n: 1 }), ...wrong)
    expect(home.runs).toEqual([{ tool: 'look', args: { n: 1 } }])
    expect(home.goal?.status).toBe('completed')
  })

  it('the limit of an answer that a small window sets is named to the model and the operator', async () => {
    const files = { 'models.yaml': 'models: { "openai:scripted": { context_window: 8000 } }\n' }
    const cut = { ...toolCall('look', '{"n": 1, "text": "It'), finish_reason: 'length' as const }
    await using home = await pursueGoal({ files }, cut, cut, cut)
    const limit = /(\d+) tokens, the maximum in its context window of 8000/
    const { error } = await detail(home, home.id)
    expect(error).toMatch(limit)
    expect(error).toContain('give the model a larger context window')
    expect(results(home.server)[0]).toMatch(limit)
    expect(home.server.requests.at(-1)!.body.max_tokens).toBe(Number(limit.exec(error!)![1]))
  })

  it('an answer of nothing but whitespace is not a completion, and counts as a step', async () => {
    await using home = await pursueGoal(text(' \n\t '), toolCall('look', { n: 1 }))
    expect(home.runs).toHaveLength(1)
    expect(home.goal).toMatchObject({ status: 'completed', unconfirmed: false, steps_completed: 3 })
  })

  it('a repaired call does not skip its approval, and a broken one does not stop the others', async () => {
    const turn = together(
      toolCall('send', `{to: 'ada',}`),
      toolCall('look', { n: 1 }),
      toolCall('look', '{"n": 1, "te'),
    )
    await using home = await testHostWithApprovals([turn, finish()])
    const waiting = await waitForPendingCall(home)
    expect(waiting).toMatchObject({ tool_name: 'send', arguments: { to: 'ada' } })
    const transcript = await home.kernel.use(Store).all('SELECT message FROM goal_transcripts ORDER BY seq')
    expect(JSON.stringify(transcript)).toMatch(/repaired.*single_quotes.*trailing_commas.*unquoted_keys/)
    expect(home.runs).toEqual([])
    await decide(home, waiting.approval_id, { decision: 'approve' })
    await until(async () => {
      await runHeartbeat(home)
      return home.runs.length === 2
    })
    expect(home.runs).toEqual([
      { tool: 'send', args: { to: 'ada' } },
      { tool: 'look', args: { n: 1 } },
    ])
  })
})

test('with a server that drops, garbles and limits answers, a call ends with an answer or an error in bounded time', async () => {
  const mock = new LLMock({ port: 0 })
  await mock.start()
  onTestFinished(() => mock.stop())
  mock.on({ userMessage: 'look' }, { toolCalls: [{ name: 'look', arguments: '{"n": "1",}' }] })
  mock.onMessage('hello', { content: 'Hi there!' })
  const { call, failing } = await testHostForModels(undefined, {
    config: QUICK,
    env: { OPENAI_BASE_URL: `${mock.url}/v1`, OPENAI_API_KEY: 'k' },
  })
  const parameters = { type: 'object', properties: { n: { type: 'integer' } } }
  const look = {
    messages: [{ role: 'user' as const, content: 'look' }],
    tools: [{ name: 'look', description: '', parameters }],
  }
  const { tool_calls, spend } = await call(look)
  expect(tool_calls).toMatchObject([{ arguments: '{"n":1}', repaired: ['number_from_text', 'trailing_commas'] }])
  expect(spend).toMatchObject({ attempts: 1, estimated: false })
  for (const chaos of [{ dropRate: 1 }, { malformedRate: 1 }, { rateLimitRate: 1 }, { disconnectRate: 1 }]) {
    mock.setChaos(chaos)
    const error = await failing({ ...look, messages: [{ role: 'user', content: 'hello' }] })
    expect(error.spend?.attempts, JSON.stringify(chaos)).toBe(3)
    mock.clearChaos()
    expect((await call({ messages: [{ role: 'user', content: 'hello' }] })).text).toBe('Hi there!')
  }
})
