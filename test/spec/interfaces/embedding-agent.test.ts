import { readdir } from 'node:fs/promises'
import { describe, expect, expectTypeOf, it, onTestFinished, vi } from 'vitest'
import {
  Agent,
  type AgentEvent,
  type AgentOptions,
  type RunOptions,
  StructuredParseError,
  tool,
  z,
} from '../../../index.ts'
import {
  fault,
  modelServer,
  type Reply,
  refuse,
  type Script,
  tempDir,
  text,
  together,
  toolCall,
} from '../../support/index.ts'

/** Address of another machine, so that calls have a price. */
const FAR = 'https://models.example/v1'

/** Creates an agent that calls a scripted model over real HTTP. */
async function scriptedAgent(script: Script | readonly Reply[], options: AgentOptions = {}, address?: string) {
  const server = await modelServer({ script })
  onTestFinished(() => server.close())
  const env = { OPENAI_BASE_URL: address ?? server.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted' }
  const agent = new Agent({
    config: { model: { retry_delay: 0, sim_delay: 0 } },
    ...options,
    ports: { env, fetch: (input, init) => fetch(String(input).replace(FAR, server.url), init), ...options.ports },
  })
  const lastMessages = () => server.requests.at(-1)!.body.messages
  return { agent, server, lastMessages }
}

const sent: unknown[] = []
const add = tool({
  name: 'add',
  description: 'Adds.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
})
const send = tool({
  name: 'send',
  description: 'Sends.',
  parameters: z.object({ to: z.string() }),
  requires_approval: true,
  execute: ({ to }) => `sent as number ${sent.push(to)}`,
})

async function collect<P>(stream: AsyncIterable<AgentEvent<P>>): Promise<AgentEvent<P>[]> {
  const events: AgentEvent<P>[] = []
  for await (const event of stream) events.push(event)
  return events
}

describe('a standalone agent', () => {
  it('uses the default of each option that is undefined', async () => {
    const unset = { instructions: undefined, tools: undefined, maxSteps: undefined, onApproval: undefined }
    const { agent } = await scriptedAgent([text('Four.')], { ...unset, log: { level: undefined } })
    const result = await agent.run('What is two and two?', { signal: undefined, maxCostUsd: undefined })
    expect(result).toMatchObject({ status: 'completed', output: 'Four.' })
  })

  it('answers, and reports its usage', async () => {
    const { agent, server, lastMessages } = await scriptedAgent([text('Four.')], {
      instructions: 'You are terse.',
      temperature: 0.5,
    })
    const result = await agent.run('What is two and two?')
    const [bill] = server.bill
    expect(result).toEqual({
      status: 'completed',
      output: 'Four.',
      parsed: null,
      error: null,
      model: 'openai:scripted',
      steps_taken: 1,
      tool_calls_made: 0,
      cost_usd: 0,
      tokens: bill!.input_tokens + bill!.output_tokens,
    })
    expect(lastMessages()[0]).toMatchObject({ role: 'system', content: expect.stringMatching(/^You are terse\./) })
    expect(lastMessages()[1]).toEqual({ role: 'user', content: 'What is two and two?' })
    expect(server.requests[0]!.body).toMatchObject({ temperature: 0.5, max_tokens: 4096 })
  })

  it('offers the model its own tools and no others', async () => {
    const { agent, server, lastMessages } = await scriptedAgent([toolCall('add', { a: 2, b: 2 }), text('Four.')], {
      tools: [add],
    })
    expect(await agent.run('What is two and two?')).toMatchObject({
      status: 'completed',
      output: 'Four.',
      steps_taken: 2,
      tool_calls_made: 1,
    })
    expect(server.requests[0]!.body.tools!.map(({ function: { name } }) => name)).toEqual(['add'])
    expect(lastMessages().at(-1)).toMatchObject({ role: 'tool', content: '4' })
  })

  it('offers the tools that fit into the prompt from the start, and `find_tools` for the others', async () => {
    const tools = Array.from({ length: 40 }, (_, n) => ({ ...add, name: `add_${n}`, description: 'Adds. '.repeat(50) }))
    const { agent, server } = await scriptedAgent([text('Four.')], {
      tools,
      config: { daemon: { tool_prompt_tokens: 3_000 } },
    })
    await agent.run('What is two and two?')
    const names = server.requests[0]!.body.tools?.map(({ function: { name } }) => name)
    expect(names).toEqual(expect.arrayContaining(['add_0', 'find_tools']))
  })

  it('ends at max_steps of the agent or of the run', async () => {
    const { agent, server } = await scriptedAgent(({ n }) => toolCall('add', { a: n, b: n }), {
      tools: [add],
      maxSteps: 3,
    })
    expect(await agent.run('Go on.')).toMatchObject({ status: 'max_steps', steps_taken: 3, error: null })
    expect(await agent.run('Go on.', { maxSteps: 1 })).toMatchObject({ status: 'max_steps', steps_taken: 1 })
    expect(server.requests).toHaveLength(4)
  })

  it('rejects invalid limits, options and instructions without a model call', async () => {
    const runs: [AgentOptions, Partial<RunOptions>, unknown, string][] = [
      [{ maxCostUsd: Number('five') }, {}, 'Hello', 'maxCostUsd'],
      [{ maxSteps: 0 }, {}, 'Hello', 'maxSteps'],
      [{ maxTokens: -1 }, {}, 'Hello', 'maxTokens'],
      [{ temperature: 3 }, {}, 'Hello', 'temperature'],
      [{ parseRepairs: 0.5 }, {}, 'Hello', 'parseRepairs'],
      [{}, { maxCostUsd: -1 }, 'Hello', 'maxCostUsd'],
      [{}, { maxSteps: Number.NaN }, 'Hello', 'maxSteps'],
      [{}, {}, undefined, 'instruction'],
      [{}, {}, ' ', 'instruction'],
      [{ maxCostUSD: 5 } as AgentOptions, {}, 'Hello', 'maxCostUSD'],
      [{ model: 5 } as unknown as AgentOptions, {}, 'Hello', 'model'],
      [{ tools: add } as unknown as AgentOptions, {}, 'Hello', 'tools'],
      [{ onApproval: true } as unknown as AgentOptions, {}, 'Hello', 'onApproval'],
      [{}, { max_steps: 2 } as RunOptions, 'Hello', 'max_steps'],
    ]
    for (const [options, more, instruction, path] of runs) {
      const { agent, server } = await scriptedAgent([text('Hello.')], options)
      const run = agent.run(instruction as string, more)
      await expect(run).rejects.toMatchObject({ code: 'invalid_input', errors: [{ path }] })
      expect(server.requests).toEqual([])
    }
  })

  it('leaves nothing on disk and reads nothing from its working directory', async () => {
    await using dir = await tempDir()
    await dir.write({ 'plugins/bad.ts': 'throw new Error("loaded")', '.svc/config.yaml': 'daemon: {heartbeat: no}' })
    const before = process.cwd()
    process.chdir(dir.path)
    onTestFinished(() => process.chdir(before))
    const { agent } = await scriptedAgent([text('Four.')])
    expect(await agent.run('What is two and two?')).toMatchObject({ status: 'completed' })
    expect((await readdir(dir.path, { recursive: true })).sort()).toEqual(
      ['.svc', '.svc/config.yaml', 'plugins', 'plugins/bad.ts'].sort(),
    )
  })

  it('uses the simulated model without a key, and says so in the output', async () => {
    const agent = new Agent({ config: { model: { sim_delay: 0 } }, ports: { env: {} }, tools: [add] })
    const { status, output, model, cost_usd } = await agent.run('Say how you are.')
    expect({ status, model, cost_usd }).toEqual({ status: 'completed', model: 'sim/rules-1', cost_usd: 0 })
    expect(output).toContain('Simulated by rules')
    const Order = z.object({
      pieces: z.number(),
      article: z.enum(['bolts', 'nuts']),
      to: z.object({ name: z.string() }),
    })
    const order = await agent.parse('Order 12 nuts for "Ada".', Order)
    expect(order).toEqual({ pieces: 12, article: 'nuts', to: { name: 'Ada' } })
  })

  it('remembers earlier runs when `memory` is set, until `forget()`', async () => {
    const { agent, lastMessages } = await scriptedAgent(({ n }) => text(`Answer ${n}.`), { memory: true })
    await agent.run('First?')
    await agent.run('Second?')
    expect(
      lastMessages()
        .slice(1)
        .map(({ content }) => content),
    ).toEqual(['First?', 'Answer 1.', 'Second?'])
    agent.forget()
    await agent.run('Third?')
    expect(
      lastMessages()
        .slice(1)
        .map(({ content }) => content),
    ).toEqual(['Third?'])
    const { agent: other, lastMessages: otherMessages } = await scriptedAgent(({ n }) => text(`Answer ${n}.`))
    await other.run('First?')
    await other.run('Second?')
    expect(otherMessages()).toHaveLength(2)
  })

  it('stops at an answer that reached the cost limit before running its tools, and reports the cost', async () => {
    const { agent, server } = await scriptedAgent(
      () => toolCall('add', { a: 1, b: 1 }),
      { tools: [add], maxCostUsd: 1e-6, model: 'openai:gpt-5.4-nano' },
      FAR,
    )
    const result = await agent.run('Go on.')
    expect(result).toMatchObject({
      status: 'failed',
      steps_taken: 1,
      tool_calls_made: 0,
      error: { code: 'task_cost_limit' },
    })
    expect(result.cost_usd).toBeGreaterThan(1e-6)
    expect(await agent.run('Go on.', { maxCostUsd: 100, maxSteps: 2 })).toMatchObject({ status: 'max_steps' })
    expect(server.requests).toHaveLength(3)
  })

  it('fails without a model call when a cost limit is set and the price is unknown', async () => {
    const { agent, server } = await scriptedAgent([text('Done.')], { maxCostUsd: 1 }, FAR)
    expect(await agent.run('Go on.')).toMatchObject({
      status: 'failed',
      error: { code: 'unknown_price', message: expect.stringContaining('maxCostUsd') },
    })
    expect(server.requests).toEqual([])
    expect(await agent.run('Go on.', { maxCostUsd: 0 })).toMatchObject({ status: 'completed', cost_usd: 0 })
  })

  it('returns the error of a failing model as its result, and rejects when no model could be called', async () => {
    const config = { daemon: { max_retries: 0 } }
    const { agent } = await scriptedAgent([refuse(500, 'broken'), fault('cleancut', 'So far')], { config })
    expect(await agent.run('Hello?')).toMatchObject({ status: 'failed', output: '', error: { code: 'model_error' } })
    const { agent: lost } = await scriptedAgent([], { model: 'nobody:knows' })
    await expect(lost.run('Hello?')).rejects.toMatchObject({ code: 'unknown_model' })
    const { agent: wrong } = await scriptedAgent([], { config: { model: { idle_timeout: -1 } } })
    await expect(wrong.run('Hello?')).rejects.toThrow(/: config of the agent:1: model\.idle_timeout/)
    const { agent: twice } = await scriptedAgent([], { tools: [{ ...add, name: 'a b' }] })
    await expect(twice.run('Hello?')).rejects.toThrow(/tool's name/)
  })

  it('warns of unknown keys in its configuration, which has no file', async () => {
    const lines: string[] = []
    const config = { model: { retry_delays: 0 } }
    const log = { write: (line: string) => void lines.push(line) }
    const { agent } = await scriptedAgent([text('Hello.')], { config, log })
    await agent.run('Hello?')
    expect(lines.map(line => JSON.parse(line).msg)).toEqual([
      'config of the agent: model.retry_delays: line 1: is not a known key; did you mean "model.retry_delay" or "model.retry_cap"?',
    ])
  })

  it('returns an error to a tool that needs a store, because there is none', async () => {
    const keep = tool({
      name: 'keep',
      description: 'Keeps.',
      parameters: z.object({}),
      execute: (_, call) => call.effect({ effect: 'values.set', payload: {} }),
    })
    const { agent, lastMessages } = await scriptedAgent([toolCall('keep'), text('Not kept.')], { tools: [keep] })
    await agent.run('Keep it.')
    expect(lastMessages().at(-1)?.content).toContain('has no store')
  })
})

describe('the stream of a standalone agent', () => {
  it('yields text, calls and results as they come, and the result at the end', async () => {
    const { agent } = await scriptedAgent(
      [together(text('I add.'), toolCall('add', { a: 2, b: 2 })), toolCall('add', { a: 'x' }), text('Four.')],
      { tools: [add] },
    )
    const events = await collect(agent.stream('What is two and two?'))
    const steps = events.filter(({ type }) => type !== 'text' && type !== 'done')
    const texts = events.flatMap(event => (event.type === 'text' ? [event.text] : []))
    expect(texts.join('')).toBe('I add.Four.')
    expect(steps).toMatchObject([
      { type: 'tool_call', name: 'add', arguments: { a: 2, b: 2 } },
      { type: 'tool_result', name: 'add', content: '4', is_error: false },
      { type: 'tool_call', name: 'add', arguments: { a: 'x' } },
      { type: 'tool_result', name: 'add', is_error: true },
    ])
    expect(events.at(-1)).toMatchObject({ type: 'done', result: { status: 'completed', output: 'Four.' } })
  })

  it('ends the run when its reader stops reading', async () => {
    const { agent, server } = await scriptedAgent(() => fault('stall', 'I begin'))
    for await (const event of agent.stream('Go on.')) {
      expect(event).toMatchObject({ type: 'text' })
      break
    }
    expect(await server.requests[0]!.ended).toBe('dropped')
  })

  it('throws the error of the run', async () => {
    const { agent } = await scriptedAgent([], { model: 'nobody:knows' })
    await expect(collect(agent.stream('Hello?'))).rejects.toMatchObject({ code: 'unknown_model' })
  })
})

describe('an aborted run', () => {
  it('rejects with the reason, cancels the model call and leaves the agent usable', async () => {
    const { agent, server } = await scriptedAgent(({ n }) => (n === 1 ? fault('stall', 'I begin') : text('Here.')))
    const abort = new AbortController()
    const running = agent.run('Go on.', { signal: abort.signal })
    await server.request(1)
    abort.abort(new Error('enough'))
    await expect(running).rejects.toThrow('enough')
    expect(await server.requests[0]!.ended).toBe('dropped')
    await expect(agent.run('Go on.', { signal: abort.signal })).rejects.toThrow('enough')
    expect(await agent.run('Again.')).toMatchObject({ output: 'Here.' })
  })

  it('does not wait for an approval, and runs nothing that is approved later', async () => {
    sent.length = 0
    const abort = new AbortController()
    let approve = (_: boolean) => {}
    const onApproval = () => {
      abort.abort(new Error('enough'))
      return new Promise<boolean>(resolve => {
        approve = resolve
      })
    }
    const { agent, server } = await scriptedAgent([toolCall('send', { to: 'ada' })], { tools: [send], onApproval })
    await expect(agent.run('Send it.', { signal: abort.signal })).rejects.toThrow('enough')
    approve(true)
    expect(await agent.run('And now?')).toMatchObject({ output: 'All done.' })
    expect({ sent, asked: server.requests.length }).toEqual({ sent: [], asked: 2 })
  })

  it('aborts a running tool and one that has just started', async () => {
    const abort = new AbortController()
    const enough = new Error('enough')
    const reported: unknown[] = []
    const wait = tool({
      name: 'wait',
      description: 'Waits.',
      parameters: z.object({ at: z.enum(['once', 'last']) }),
      read_only: true,
      execute: ({ at }, { signal }) =>
        new Promise(resolve => {
          signal.addEventListener('abort', () => resolve(reported.push(signal.reason)))
          if (at === 'once') abort.abort(enough)
        }),
    })
    const both = together(toolCall('wait', { at: 'last' }), toolCall('wait', { at: 'once' }))
    const { agent } = await scriptedAgent([both], { tools: [wait] })
    await expect(agent.run('Wait.', { signal: abort.signal })).rejects.toThrow('enough')
    expect(reported).toEqual([enough, enough])
  })
})

describe('the structured output of a standalone agent', () => {
  const City = z.object({ name: z.string(), founded: z.iso.date().transform(text => new Date(text)) })
  const bern = JSON.stringify({ name: 'Bern', founded: '1191-01-01' })

  it('has the value and the type of its schema', async () => {
    const { agent } = await scriptedAgent([text(bern)])
    const { parsed, output } = await agent.run('Which city?', { schema: City })
    expectTypeOf(parsed).toEqualTypeOf<{ name: string; founded: Date } | null>()
    expect({ parsed, output }).toEqual({ parsed: { name: 'Bern', founded: new Date('1191-01-01') }, output: bern })
  })

  it('is requested again when it breaks a rule that JSON Schema cannot express', async () => {
    const Old = City.refine(({ name }) => name === 'Bern', { path: ['name'], message: 'must be the oldest' })
    const { agent, lastMessages } = await scriptedAgent([text(bern.replace('Bern', 'Basel')), text(bern)])
    expect(await agent.run('Which city?', { schema: Old })).toMatchObject({ parsed: { name: 'Bern' }, steps_taken: 2 })
    expect(lastMessages().at(-1)?.content).toContain('name: must be the oldest')
  })

  it('is null with a StructuredParseError if it never fits; `parse` throws that error with the raw answer', async () => {
    const { agent } = await scriptedAgent(() => text('Bern, of course.'), { parseRepairs: 2 })
    const { status, parsed, error, steps_taken } = await agent.run('Which city?', { schema: City })
    expect({ status, parsed, steps_taken }).toEqual({ status: 'failed', parsed: null, steps_taken: 3 })
    expect(error).toBeInstanceOf(StructuredParseError)
    const thrown = await agent.parse('Which city?', City).catch(error => error)
    expect(thrown).toBeInstanceOf(StructuredParseError)
    expect(thrown).toMatchObject({ raw: 'Bern, of course.', code: 'structured_parse_error' })
    const { agent: sure } = await scriptedAgent([text(bern)])
    expect((await sure.parse('Which city?', City)).founded.getUTCFullYear()).toBe(1191)
  })

  it('comes at the end of a stream, after the tool calls', async () => {
    const { agent } = await scriptedAgent([toolCall('add', { a: 1190, b: 1 }), text(bern)], { tools: [add] })
    const events = await collect(agent.stream('Which city?', { schema: City }))
    expect(events.at(-1)).toMatchObject({ type: 'done', result: { parsed: { name: 'Bern' }, tool_calls_made: 1 } })
  })

  it('must be an object: any other schema is rejected', async () => {
    const { agent, server } = await scriptedAgent([])
    for (const other of [z.array(z.string()), { type: 'object' }, 'object']) {
      const schema = other as unknown as typeof City
      await expect(agent.run('Which?', { schema })).rejects.toThrow('must be a z.object')
    }
    expect(server.requests).toHaveLength(0)
  })
})

describe('a tool that requires approval', () => {
  const asks = (onApproval?: AgentOptions['onApproval']) =>
    scriptedAgent([toolCall('send', { to: 'ada' }), text('Done.')], {
      tools: [send],
      ...(onApproval ? { onApproval } : {}),
    })
  const decideApproval = async (onApproval?: AgentOptions['onApproval']) => {
    sent.length = 0
    const { agent, lastMessages } = await asks(onApproval)
    const result = await agent.run('Send it.')
    return { sent: [...sent], answer: lastMessages().at(-1)!.content, status: result.status }
  }

  it('runs when the callback approves it, with the original or with edited arguments', async () => {
    const seen: unknown[] = []
    const yes = await decideApproval(call => {
      seen.push(call)
      return true
    })
    expect(yes).toMatchObject({ sent: ['ada'], status: 'completed' })
    expect(seen).toMatchObject([{ tool_name: 'send', arguments: { to: 'ada' }, danger: null }])
    expect(await decideApproval(async () => ({ decision: 'approve' }))).toMatchObject({ sent: ['ada'] })
    const edited = await decideApproval(() => ({ decision: 'edit', arguments: { to: 'bob' } }))
    expect(edited).toMatchObject({ sent: ['bob'], answer: expect.stringContaining('{"to":"bob"}') })
  })

  it('is refused when the callback denies it, or without a callback', async () => {
    expect(await decideApproval(() => false)).toMatchObject({ sent: [], answer: expect.stringContaining('denied') })
    const reason = await decideApproval(() => ({ decision: 'deny', reason: 'not on a Sunday' }))
    expect(reason).toMatchObject({ sent: [], answer: expect.stringContaining('not on a Sunday') })
    expect(await decideApproval()).toMatchObject({ sent: [], answer: expect.stringContaining('none is available') })
  })

  it('is refused by its own check before the callback is asked', async () => {
    const checked = { ...send, check: () => Promise.reject(new Error('there is no such address')) }
    const onApproval = vi.fn(() => true)
    const { agent, lastMessages } = await scriptedAgent([toolCall('send', { to: 'ada' }), text('Done.')], {
      tools: [checked],
      onApproval,
    })
    await agent.run('Send it.')
    expect(lastMessages().at(-1)!.content).toBe('Error: there is no such address')
    expect(onApproval).not.toHaveBeenCalled()
  })

  it('does not run on an invalid answer of the callback, which ends the run', async () => {
    for (const answer of ['no', 0, null, undefined, { decision: 'reject' }]) {
      sent.length = 0
      const { agent } = await asks(() => answer as never)
      await expect(agent.run('Send it.')).rejects.toThrow(
        "onApproval must return true, false, or { decision: 'approve'",
      )
      expect(sent).toEqual([])
    }
  })

  it('ends the run with the error of the callback', async () => {
    sent.length = 0
    const { agent } = await asks(() => {
      throw new Error('the line is dead')
    })
    await expect(agent.run('Send it.')).rejects.toThrow('the line is dead')
    expect(sent).toEqual([])
  })
})
