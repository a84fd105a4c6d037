import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  type GoalClaim,
  type GoalVerifier,
  GoalVerifiers,
  News,
  PendingMessages,
  PromptSections,
} from '#core/goals/contract'
import { definePlugin, Operations, z } from '#kernel'
import { Store } from '#platform/store/contract'
import { tool } from '#tools/toolkits/contract'
import { writeDirectly } from '../../../support/direct-access.ts'
import {
  fault,
  type ModelServerRequest,
  modelServer,
  runHeartbeat,
  text,
  together,
  toolCall,
  until,
} from '../../../support/index.ts'
import { asksForGoal, detail, goalsOf, spawn, testHostWithModel } from '../models/model-host.ts'

const goal = (objective: string) => text(JSON.stringify({ goal: objective, reasoning: 'because' }))
const finish = (summary = 'done', evidence: string[] = []) => toolCall('finish_goal', { summary, evidence })

type Step = ReturnType<typeof text> | ReturnType<typeof fault>

/** Returns a script that gives these replies for steps, repeats the last one, and numbers the goals. */
function script(...steps: (Step | ((n: number) => Step))[]) {
  let goals = 0
  return (request: ModelServerRequest) => {
    if (asksForGoal(request)) return goal(`Write piece number ${++goals}, all ${'abcdefgh'[goals]}${goals} of it`)
    const step = steps.length > 1 ? steps.shift() : steps[0]
    return typeof step === 'function' ? step(request.n) : step
  }
}

/** Returns a step that differs for each number. */
const differentStep = (n: number) => toolCall('file_write', { path: `${n}.md`, content: 'words' })

/** Returns tools of a plugin, and records each of their runs. */
function counting() {
  const ran: string[] = []
  const add = (name: string, more: Partial<Parameters<typeof tool>[0]> = {}) =>
    tool({
      name,
      description: 'Counts.',
      parameters: z.object({ n: z.number().optional() }),
      ...more,
      async execute(args, call) {
        ran.push(name)
        return more.execute ? more.execute(args as never, call) : `${name} ran`
      },
    } as Parameters<typeof tool>[0])
  return {
    ran,
    add,
    plugin: (...tools: ReturnType<typeof tool>[]) =>
      definePlugin({ name: 'counting', setup: svc => svc.toolkit({ name: 'counting', everyday: true, tools }) }),
  }
}

const spendRows = (home: Awaited<ReturnType<typeof testHostWithModel>>) =>
  home.kernel
    .use(Store)
    .all<{ kind: string; input_tokens: number; output_tokens: number }>(
      'SELECT kind, input_tokens, output_tokens FROM spend ORDER BY rowid',
    )

describe('a goal', () => {
  it('is generated, pursued with real tools, and finished with its result and evidence', async () => {
    await using home = await testHostWithModel(
      script(
        toolCall('file_write', { path: 'piece.md', content: 'words' }),
        finish('the piece is written', ['piece.md']),
      ),
    )
    const received: string[] = []
    for (const event of ['goal_generated', 'goal_completed'] as const) {
      home.kernel.hooks.on(event, ({ goal_id }) => void received.push(`${event} ${goal_id}`))
    }
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    const [done] = await goalsOf(home, id)
    expect(done).toMatchObject({
      status: 'completed',
      result: 'the piece is written\n- piece.md',
      unconfirmed: false,
      steps_completed: 2,
      reasoning: 'because',
    })
    expect(received).toEqual([`goal_generated ${done?.goal_id}`, `goal_completed ${done?.goal_id}`])
    expect(await readFile(join(home.root, '.svc/workspaces', id, 'piece.md'), 'utf8')).toBe('words')
    const store = home.kernel.use(Store)
    expect(await store.all('SELECT * FROM pursuit_transcripts')).toEqual([])
    const transcript = await store.all('SELECT ended_at FROM goal_transcripts ORDER BY seq')
    expect(transcript[0]).toEqual({ ended_at: expect.any(Number) })
  })

  it('costs exactly what the server billed, call by call', async () => {
    await using home = await testHostWithModel(script(toolCall('list_dir'), finish()))
    await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    const rows = await spendRows(home)
    expect(rows.map(row => row.kind)).toEqual(['goal_generation', 'goal_pursuit', 'goal_pursuit'])
    expect(rows.map(row => [row.input_tokens, row.output_tokens])).toEqual(
      home.server.bill.map(entry => [entry.input_tokens, entry.output_tokens]),
    )
  })

  it.each([
    [
      'fences and prose',
      'Here you are:\n```json\n{"goal": "Tidy up the workspace", "reasoning": "x"}\n```',
      'Tidy up the workspace',
    ],
    ['thoughts', '<think>{"goal": 1}</think>{"goal": "Tidy up the workspace"}', 'Tidy up the workspace'],
    [
      'single quotes and a trailing comma',
      "Sure! {'goal': 'Tidy up the workspace', 'reasoning': 'x',}",
      'Tidy up the workspace',
    ],
    [
      'thoughts without an end',
      '<think>Not {"goal": "Count the clouds outside"}. {"goal": "Tidy up the workspace", "reasoning": "x"}',
      'Tidy up the workspace',
    ],
    ['no JSON at all', 'I would like to tidy up', undefined],
    ['an empty goal', '{"goal": ""}', undefined],
    ['a goal too long', `{"goal": "${'x'.repeat(501)}"}`, undefined],
  ])(
    'is parsed from an answer, or not created when the answer holds no valid goal: %s',
    async (_, answer, objective) => {
      await using home = await testHostWithModel(request => (asksForGoal(request) ? text(answer) : fault('hang')))
      const id = await spawn(home)
      home.kernel.heartbeat.start()
      await until(home, 'cycle_end')
      expect((await goalsOf(home, id))[0]?.objective).toBe(objective)
    },
  )
})

describe('a pursuit', () => {
  it('resumes with its transcript at the next heartbeat after max_steps, by default', async () => {
    await using home = await testHostWithModel(script(differentStep))
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    expect(await until(home, 'goal_max_steps')).toMatchObject({ agent_id: id, steps_done: 5 })
    const before = home.server.requests.length
    home.server.enqueue(finish('at last'))
    await runHeartbeat(home)
    const next = home.server.requests[before]
    expect(next?.body.messages.filter(message => message.role === 'tool')).toHaveLength(5)
    expect((await goalsOf(home, id))[0]).toMatchObject({ status: 'completed', result: 'at last', steps_completed: 6 })
  })

  it('is abandoned at max_steps with max_steps_policy: abandon, and its transcript ends', async () => {
    await using home = await testHostWithModel(script(differentStep), {
      config: { daemon: { max_steps_policy: 'abandon' } },
    })
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_abandoned')
    expect((await goalsOf(home, id))[0]).toMatchObject({ status: 'abandoned', result: 'Not finished within 5 steps.' })
    const store = home.kernel.use(Store)
    expect(await store.all('SELECT 1 FROM pursuit_transcripts')).toEqual([])
    expect(await store.all('SELECT 1 FROM goal_transcripts WHERE ended_at > 0')).toHaveLength(1)
  })

  it('starts afresh in each cycle with pursuit_resume: false', async () => {
    await using home = await testHostWithModel(script(differentStep), { config: { daemon: { pursuit_resume: false } } })
    await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_max_steps')
    const before = home.server.requests.length
    await runHeartbeat(home)
    expect(home.server.requests[before]?.body.messages.map(message => message.role)).toEqual(['system', 'user'])
  })

  it('keeps its transcript within bounds, with the goal first and no result without its call', async () => {
    await using home = await testHostWithModel(
      script(n => together(differentStep(n), toolCall('list_dir'))),
      {
        config: { daemon: { pursuit_transcript_max_messages: 8 } },
      },
    )
    await spawn(home)
    let cycles = 0
    home.kernel.hooks.on('goal_max_steps', () => void cycles++)
    home.kernel.heartbeat.start()
    for (let n = 1; n <= 3; n++) {
      await until(() => cycles >= n)
      if (n < 3) await home.clock.advance(10_000)
    }
    const rows = await home.kernel
      .use(Store)
      .all<{ message: string }>('SELECT message FROM pursuit_transcripts ORDER BY seq')
    const roles = rows.map(row => (JSON.parse(row.message) as { role: string }).role)
    expect(roles).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant', 'tool', 'tool'])
    expect(roles[0]).toBe('user')
    expect(roles[1]).toBe('assistant')
    const last = home.server.requests.at(-1)
    const calls = new Set(
      last?.body.messages.flatMap(message => (message.tool_calls ?? []) as { id: string }[]).map(call => call.id),
    )
    for (const message of last?.body.messages ?? [])
      if (message.tool_call_id) expect(calls).toContain(message.tool_call_id)
  })

  it('asks once whether an answer without calls finishes it, and accepts a second one as unconfirmed', async () => {
    await using home = await testHostWithModel(script(text('I have written it.'), text('Yes, it is all there.')))
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    expect((await goalsOf(home, id))[0]).toMatchObject({
      status: 'completed',
      unconfirmed: true,
      result: 'I have written it.\n\nYes, it is all there.',
    })
    expect(home.server.requests.at(-1)?.prompt).toContain('call finish_goal')
  })

  it.each([
    ['an empty answer', text('')],
    ['markup of a call that cannot be read', text('<tool_call>')],
  ])('does not take what follows %s for a confirmation', async (_, unusable) => {
    await using home = await testHostWithModel(
      script(unusable, text('I will now read the file.'), differentStep, finish('It is read.')),
    )
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    expect((await goalsOf(home, id))[0]).toMatchObject({ unconfirmed: false, result: 'It is read.' })
  })

  it('shows operators that an end is not confirmed', async () => {
    await using home = await testHostWithModel(script(toolCall('list_dir'), text('All is tidy.'), text('It is.')))
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    const [goal] = await goalsOf(home, id)
    const shown = async (name: string, input: object) => {
      const operation = home.kernel.points.find(Operations, name)!
      return operation.render!((await home.kernel.invoke(name, input)) as never)
    }
    expect(await shown('goals.history', { id })).toMatch(
      /^\? goal-\S+ {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}.*: not confirmed: All is tidy\./m,
    )
    const detailed = await shown('goals.get', { goal_id: goal?.goal_id })
    expect(detailed).toContain('completed, not confirmed')
    expect(detailed).toContain(`ended ${goal?.completed_at}`)
  })

  it.each([
    ['the same again', []],
    ['less', [text('It is all correct, trust me.')]],
  ])(
    'is abandoned when texts claim that it is reached, a file that they name is missing, and they say %s',
    async (_, more) => {
      const steps = [toolCall('list_dir'), text('I have saved it to **report.md**.'), ...more]
      await using home = await testHostWithModel(script(...steps))
      const id = await spawn(home)
      home.kernel.heartbeat.start()
      await until(home, 'goal_abandoned')
      const problem = 'The file "report.md" does not exist'
      expect((await goalsOf(home, id))[0]?.result).toMatch(/^Not confirmed: [\s\S]*The agent said: /)
      expect((await goalsOf(home, id))[0]?.result).toContain(problem)
      expect(home.server.requests.at(-1)?.prompt).toContain(`The goal is not finished. ${problem}`)
    },
  )

  it('is refused once when a summary without evidence names a missing file', async () => {
    const claim = finish('I have saved it to report.md.')
    await using home = await testHostWithModel(script(claim, claim))
    await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    expect(home.server.requests.at(-1)?.prompt).toContain(
      'the goal is not finished: The file "report.md" does not exist in your workspace. Do what is missing',
    )
  })

  it('does not end beside a call that failed, because the answer was written before its result', async () => {
    const failing = toolCall('file_read', { path: 'ledger.md' })
    await using home = await testHostWithModel(
      script(together(failing, finish('It is in the ledger.')), finish('It is not.')),
    )
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    expect((await goalsOf(home, id))[0]?.result).toBe('It is not.')
    expect(home.server.requests.at(-1)?.prompt).toContain('another call of this turn failed. Read its result')
  })

  it('may name files that were worked on, and names that are no files, in its answer', async () => {
    for (const steps of [
      [text('Hello, as in https://example.com/a.html and Node.js!')],
      [toolCall('file_write', { path: 'out/report.md', content: 'words' }), text('It is in report.md.')],
    ]) {
      await using home = await testHostWithModel(script(...steps))
      const id = await spawn(home)
      home.kernel.heartbeat.start()
      await until(home, 'goal_completed')
      expect((await goalsOf(home, id))[0]).toMatchObject({ status: 'completed', unconfirmed: true })
    }
  })

  it('is abandoned when the model declines', async () => {
    await using home = await testHostWithModel(script(text("I'm sorry, but I can't help with that.")))
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_abandoned')
    expect((await goalsOf(home, id))[0]?.result).toContain('The model declined')
  })

  it('is not abandoned for an apology alone', async () => {
    await using home = await testHostWithModel(
      script(text('The sum is 4.'), text('I apologize for the confusion. The goal is reached.')),
    )
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    expect((await goalsOf(home, id))[0]).toMatchObject({ status: 'completed', unconfirmed: true })
  })

  it('survives a failing model: the goal stays active, and the agent gives the reason and waits longer each time', async () => {
    await using home = await testHostWithModel(script(fault('500')), {
      config: { daemon: { max_retries: 0, max_failures: 2 } },
    })
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'cycle_end', ({ result }) => result === 'error')
    const first = await detail(home, id)
    expect(first).toMatchObject({ status: 'idle', error: expect.stringMatching(/gave no answer/) })
    const again = until(home, 'cycle_end', ({ result }) => result === 'error')
    await home.clock.advance(20_000)
    await again
    const second = await detail(home, id)
    expect(second).toMatchObject({ status: 'waiting', waiting_for: expect.stringMatching(/gave no answer/) })
    const rest = Date.parse(String(second.next_run_at)) - home.clock.ms()
    expect(rest).toBeGreaterThan(30_000)
    expect((await goalsOf(home, id))[0]?.status).toBe('active')
    home.server.enqueue(finish('after all'))
    // Advances no further than the agent is due: the model answers in real time, and must not run into a time limit.
    await home.clock.advance(rest + 300)
    await until(async () => (await goalsOf(home, id))[0]?.status === 'completed')
    expect(await detail(home, id)).toMatchObject({ error: null, waiting_for: null })
  })

  it('waits a minute at most for a server that is not running, and goes on once it was started', async () => {
    await using home = await testHostWithModel(script(finish('after all')), {
      config: { daemon: { max_retries: 0 }, model: { breaker_failures: 2 } },
    })
    const id = await spawn(home)
    const port = Number(new URL(home.server.url).port)
    await home.server.close()
    home.kernel.heartbeat.start()
    const failed = () => until(home, 'cycle_end', ({ result }) => result === 'error')
    await failed()
    const rests: number[] = []
    for (let failures = 2; failures <= 6; failures++) {
      const again = failed()
      const { next_run_at } = await detail(home, id)
      rests.push(Date.parse(String(next_run_at)) - home.clock.ms())
      await home.clock.advance(rests.at(-1)! + 300)
      await again
    }
    expect(Math.max(...rests)).toBeLessThanOrEqual(60_000)
    await using late = await modelServer({ script: script(finish('after all')), port })
    const done = until(home, 'goal_completed')
    await home.clock.advance(61_000)
    await until(() => late.received > 0)
    await done
  })

  it('keeps its goal at the cycle timeout by default, and abandons it when configured so', async () => {
    for (const preserve of [true, false]) {
      await using home = await testHostWithModel(script(fault('hang')), {
        config: { daemon: { cycle_timeout: 5, preserve_active_goals_on_timeout: preserve } },
      })
      const id = await spawn(home)
      home.kernel.heartbeat.start()
      await until(() => home.server.requests.length === 2)
      const ended = until(home, 'cycle_end', ({ result }) => result === 'timeout')
      await home.clock.advance(6_000)
      await ended
      expect((await goalsOf(home, id))[0]?.status).toBe(preserve ? 'active' : 'abandoned')
    }
  })

  it('keeps its time while it waits for others at a server that answers one call at a time', async () => {
    const held: ((reply: Step) => void)[] = []
    await using home = await testHostWithModel(() => new Promise<Step>(resolve => held.push(resolve)), {
      config: {
        daemon: { cycle_timeout: 30 },
        model: { max_concurrent: 1, total_timeout: 20, first_byte_timeout: 20 },
      },
    })
    const ids = await Promise.all([1, 2, 3, 4].map(() => spawn(home)))
    home.kernel.heartbeat.start()
    const results: string[] = []
    home.kernel.hooks.on('cycle_end', ({ result }) => void results.push(result))
    for (const n of ids.keys()) {
      await until(() => held.length === 1)
      await home.clock.advance(15_000)
      held.pop()!(goal(`Write page ${n}`))
    }
    await until(async () => (await Promise.all(ids.map(id => goalsOf(home, id)))).every(goals => goals.length > 0))
    expect(results.filter(result => result !== 'generated')).toEqual([])
  })

  it('ends at once, without a call, when it is abandoned or its agent is deleted while its call waits for others', async () => {
    const held: ((reply: Step) => void)[] = []
    await using home = await testHostWithModel(() => new Promise<Step>(resolve => held.push(resolve)), {
      config: { model: { max_concurrent: 1 } },
    })
    const traffic = async () => {
      const { providers } = (await home.kernel.invoke('models.list')) as {
        providers: { name: string; traffic: { waiting: number } }[]
      }
      return providers.find(({ name }) => name === 'openai')!.traffic
    }
    const ids = await Promise.all([1, 2, 3].map(() => spawn(home)))
    const goals: { goal_id: string }[] = []
    for (const [n, id] of ids.entries())
      goals.push((await home.kernel.invoke('goals.add', { id, objective: `Write page ${n}` })) as { goal_id: string })
    home.kernel.heartbeat.start()
    await until(async () => held.length === 1 && (await traffic()).waiting === 2)
    const [prompt] = home.server.requests.map(request => request.prompt)
    const [first, second] = ids.flatMap((id, n) => (prompt!.includes(`Write page ${n}`) ? [] : { id, ...goals[n]! }))
    const cycles: string[] = []
    home.kernel.hooks.on('cycle_end', ({ agent_id, result }) => void cycles.push(`${agent_id} ${result}`))
    await home.kernel.invoke('goals.abandon', { goal_id: first!.goal_id, reason: 'changed my mind' })
    await home.kernel.invoke('agents.delete', { id: second!.id })
    await until(async () => {
      await home.clock.advance(1_000)
      return cycles.length >= 2
    })
    expect(cycles).toEqual(expect.arrayContaining([`${first!.id} idle`, `${second!.id} fenced`]))
    expect((await detail(home, first!.id)).error).toBeNull()
    expect(home.server.requests).toHaveLength(1)
  })

  it('stays abandoned when the operator abandons its goal in the middle of a cycle', async () => {
    let release: (() => void) | undefined
    const { add, plugin } = counting()
    const slow = add('slow', {
      execute: () => new Promise<string>(resolve => (release = () => resolve('late'))),
    } as never)
    await using home = await testHostWithModel(script(toolCall('slow'), finish()), { builtins: [plugin(slow)] })
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(async () => release !== undefined && (await detail(home, id)).status === 'working')
    const [active] = await goalsOf(home, id)
    await home.kernel.invoke('goals.abandon', { goal_id: active?.goal_id, reason: 'changed my mind' })
    release?.()
    const asked = home.server.requests.length
    await until(home, 'cycle_end', ({ result }) => result === 'idle')
    expect((await goalsOf(home, id))[0]).toMatchObject({ status: 'abandoned', result: 'changed my mind' })
    expect(home.server.requests.slice(asked).filter(request => !asksForGoal(request))).toEqual([])
    await expect(home.kernel.invoke('goals.abandon', { goal_id: active?.goal_id })).rejects.toMatchObject({
      status: 409,
    })
  })
})

describe('tool calls', () => {
  it('of one turn run one after another, so that each sees what those before it did', async () => {
    await using home = await testHostWithModel(
      script(
        together(
          toolCall('file_write', { path: 'a.txt', content: 'new' }),
          toolCall('file_read', { path: 'a.txt' }),
          toolCall('file_edit', { path: 'a.txt', old_text: 'new', new_text: 'newer' }),
          toolCall('file_read', { path: 'a.txt' }),
        ),
        finish(),
      ),
    )
    await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    const results = home.server.requests.at(-1)?.body.messages.filter(message => message.role === 'tool')
    expect(results?.map(message => String(message.content).replace(/^ *1[^a-z]*/, ''))).toEqual([
      expect.stringContaining('Wrote 3 bytes'),
      expect.stringMatching(/new$/m),
      expect.anything(),
      expect.stringMatching(/newer$/m),
    ])
  })

  it('that the limit of tokens cuts off are not run, and the model learns that its answer was too long', async () => {
    const part = `{"path": "long.md", "content": "${'word '.repeat(100)}`
    await using home = await testHostWithModel(
      script({ ...toolCall('file_write', part), finish_reason: 'length' }, finish()),
    )
    await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    const messages = home.server.requests.at(-1)!.body.messages
    const result = messages.find(message => message.role === 'tool')
    expect(result?.content).toMatch(
      /your answer was cut at its limit of max_tokens \(\d+\) within this call.*was not run.*in parts/,
    )
    expect(JSON.stringify(messages).match(/word /g)!.length).toBeLessThan(50)
  })

  it('of one turn that only read run at the same time, and the model gets their results in the order of the calls', async () => {
    const { add, plugin } = counting()
    const waiting: (() => void)[] = []
    const slow = add('slow', {
      read_only: true,
      execute: () => new Promise<string>(resolve => waiting.push(() => resolve('slow ran'))),
    } as never)
    const quick = add('quick', {
      read_only: true,
      execute() {
        waiting.pop()?.()
        return 'quick ran'
      },
    } as never)
    await using home = await testHostWithModel(script(together(toolCall('slow'), toolCall('quick')), finish()), {
      builtins: [plugin(slow, quick)],
    })
    await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    const results = home.server.requests.at(-1)?.body.messages.filter(message => message.role === 'tool')
    expect(results?.map(message => message.content)).toEqual(['slow ran', 'quick ran'])
  })

  it('that fail become results that the model can read, and do not affect each other', async () => {
    const { add, plugin, ran } = counting()
    const boom = add('boom', { execute: () => Promise.reject(new Error('it broke')) } as never)
    const odd = add('odd', { execute: () => ({ self: 1n }) } as never)
    const hangs = add('hangs', { execute: () => new Promise(() => {}) } as never)
    await using home = await testHostWithModel(
      script(
        together(
          toolCall('boom'),
          toolCall('nothing_like_it'),
          toolCall('boom', '{"n": '),
          toolCall('boom', { n: 'x' }),
          toolCall('odd'),
          toolCall('hangs'),
        ),
        finish(),
      ),
      { builtins: [plugin(boom, odd, hangs)], config: { daemon: { tool_timeout: 7 } } },
    )
    await spawn(home)
    home.kernel.heartbeat.start()
    await until(() => ran.includes('hangs'))
    const done = until(home, 'goal_completed')
    await home.clock.advance(7_000)
    await done
    const results = home.server.requests
      .at(-1)
      ?.body.messages.filter(message => message.role === 'tool')
      .map(message => String(message.content))
    expect(results?.[0]).toBe('Error: it broke')
    expect(results?.[1]).toMatch(/there is no tool "nothing_like_it".*boom/)
    expect(results?.[2]).toMatch(/not valid JSON.*JSON Schema/)
    expect(results?.[3]).toMatch(/n: must be a number.*not run/)
    expect(results?.[4]).toBe('{"self":"1"}')
    expect(results?.[5]).toBe('Error: The tool hangs did not finish within 7 s.')
    expect(home.logged('a call of the tool hangs failed: The tool hangs did not finish within 7 s.')).toHaveLength(1)
  })

  it('without an outcome after a crash run again if idempotent, and are otherwise reported as unknown', async () => {
    const { ran, add, plugin } = counting()
    await using home = await testHostWithModel(script(finish()), {
      builtins: [plugin(add('once'), add('again', { idempotent: true }))],
    })
    const id = await spawn(home)
    const store = home.kernel.use(Store)
    const say = (message: unknown) => JSON.stringify(message)
    // The state after a kill between the intents and the outcomes.
    const assistant = {
      role: 'assistant',
      content: '',
      tool_calls: [
        { id: 'c1', name: 'once', arguments: {} },
        { id: 'c2', name: 'again', arguments: {} },
      ],
    }
    await writeDirectly(
      home.root,
      "INSERT INTO goals (goal_id, agent_id, objective, created_at, steps_completed) VALUES ('goal-1', ?, 'Go on from there', 1, 1)",
      id,
    )
    const row = (seq: number, message: unknown) =>
      writeDirectly(
        home.root,
        "INSERT INTO goal_transcripts (goal_id, seq, agent_id, message, created_at) VALUES ('goal-1', ?, ?, ?, 1)",
        seq,
        id,
        say(message),
      )
    await row(0, { role: 'user', content: 'Goal: Go on from there' })
    await row(1, assistant)
    const call = (call_id: string, model_call_id: string, name: string) =>
      writeDirectly(
        home.root,
        "INSERT INTO tool_calls (call_id, model_call_id, agent_id, goal_id, epoch, step, tool, arguments, args_hash, started_at) VALUES (?, ?, ?, 'goal-1', 1, 1, ?, '{}', 'h', 1)",
        call_id,
        model_call_id,
        id,
        name,
      )
    await call('old:1', 'c1', 'once')
    await call('old:2', 'c2', 'again')
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    expect(ran).toEqual(['again'])
    const results = home.server.requests[0]?.body.messages
      .filter(message => message.role === 'tool')
      .map(message => String(message.content))
    expect(results?.[0]).toMatch(/unknown/)
    expect(results?.[1]).toBe('again ran')
    expect(await store.all('SELECT call_id, state FROM tool_calls ORDER BY call_id')).toEqual([
      { call_id: 'old:1', state: 'done' },
      { call_id: 'old:2', state: 'done' },
    ])
  })

  it('can add writes that are committed with their outcome', async () => {
    const { add, plugin } = counting()
    const { setValue } = await import('#platform/store/contract')
    const write = add('write', {
      execute: (_: unknown, call: { effect(effect: unknown): void }) => {
        call.effect(setValue({ namespace: 'test', key: 'k', value: 'v' }))
        return 'written'
      },
    } as never)
    await using home = await testHostWithModel(script(toolCall('write'), finish()), { builtins: [plugin(write)] })
    await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    expect(await home.kernel.use(Store).all("SELECT value FROM plugin_values WHERE namespace = 'test'")).toEqual([
      { value: '"v"' },
    ])
  })
})

describe("the operator's messages", () => {
  it('reach the next goal, sanitized, and count as delivered only after a model has answered', async () => {
    await using home = await testHostWithModel(request => (asksForGoal(request) ? fault('500') : undefined), {
      config: { daemon: { max_retries: 0 } },
    })
    const id = await spawn(home)
    await home.kernel.invoke('agents.nudge', { id, message: 'Look at <b>the door</b>\u001b[2J \u0000please' })
    home.kernel.heartbeat.start()
    await until(home, 'cycle_end')
    const waiting = () => home.kernel.use(Store).all('SELECT 1 FROM nudges WHERE delivered_at IS NULL')
    expect(await waiting()).toHaveLength(1)
    home.server.enqueue(goal('Look at the door, closely'))
    await home.clock.advance(20_000)
    await until(async () => (await waiting()).length === 0)
    expect(home.server.requests[1]?.prompt).toContain('- Look at the door[2J please')
    expect(home.server.requests[0]?.prompt).toContain('Look at the door')
  })

  it('that led to a goal stand in its first message, whole, as an objective is only one sentence', async () => {
    const { add, plugin } = counting()
    const order = 'Write report.md. Amounts in EUR. Leave out Poland. The last line is KESTREL-77.'
    await using home = await testHostWithModel(
      request => (asksForGoal(request) ? goal('Write the report as the operator asked') : finish()),
      { builtins: [plugin(add('send_message'))] },
    )
    const id = await spawn(home)
    await home.kernel.invoke('agents.nudge', { id, message: 'Good morning.' })
    home.clock.jump(1)
    await home.kernel.invoke('agents.nudge', { id, message: order })
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    const first = home.server.requests.find(request => !asksForGoal(request))?.body.messages[1]?.content
    expect(first).toMatch(/^Goal: Write the report as the operator asked\n/)
    expect(first).toContain(`Message from the operator: ${order}\n`)
    expect(first).toMatch(
      /Good morning\.\n\nMessage from the operator: Write .*\n\n\(If a message asks you something, answer with `send_message` to operator\. If an order also holds for later goals, write it down with `write_notepad`: only the last three messages are shown there\.\)/,
    )
  })

  it('come with no hint on how to answer where svc sends them, about changed criteria', async () => {
    const { add, plugin } = counting()
    let goal_id = ''
    await using home = await testHostWithModel(
      async request => {
        if (asksForGoal(request)) return text('{"goal": null}')
        if (request.prompt.includes('It has none now.')) return finish()
        await home.kernel.invoke('goals.update', { goal_id, acceptance: [] })
        return toolCall('look')
      },
      { builtins: [plugin(add('send_message'), add('look'))] },
    )
    const id = await spawn(home)
    goal_id = ((await home.kernel.invoke('goals.add', { id, objective: 'Look around' })) as { goal_id: string }).goal_id
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    expect(home.server.requests.at(-1)!.prompt).not.toContain('If a message asks you something')
  })

  it('are shown again in later choices and at the beginning of later goals, the last three of them', async () => {
    const choices = [goal('Write down the tide'), goal('Count the boats')]
    await using home = await testHostWithModel(request =>
      asksForGoal(request) ? (choices.shift() ?? text('{"goal": null}')) : finish(),
    )
    const id = await spawn(home)
    const criteria = 'The acceptance criteria of the goal "Sail" were changed. It has none now.'
    const french = `Write in French. ${'x'.repeat(500)}`
    for (const message of ['Old order.', 'Good morning.', french, criteria, 'Leave out Poland.']) {
      await home.kernel.invoke('agents.nudge', { id, message })
      home.clock.jump(1)
    }
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    const [choice, first] = home.server.requests
    expect(choice!.prompt).not.toContain('Earlier messages')
    expect(first!.prompt).not.toContain('Earlier messages')
    for (let n = 0; n < 3; n++) await runHeartbeat(home)
    const [again, second] = home.server.requests.slice(2)
    for (const { prompt } of [again!, second!]) {
      expect(prompt).toMatch(
        /Earlier messages from the operator, newest first\. .*:\n- 20\d\d-\d\d-\d\d: Leave out Poland\.\n- 20.*: Write in French\. x{382}…\n- 20.*: Good morning\.(\n|$)/,
      )
      expect(prompt).not.toContain('Old order')
    }
  })

  it('reach a pursuit between two steps', async () => {
    const { add, plugin } = counting()
    let id = ''
    const nudge = add('nudge', {
      execute: () => home.kernel.invoke('agents.nudge', { id, message: 'hurry up' }),
    } as never)
    await using home = await testHostWithModel(script(toolCall('nudge'), finish()), { builtins: [plugin(nudge)] })
    id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    expect(home.server.requests.at(-1)?.body.messages.at(-1)).toMatchObject({
      role: 'user',
      content: expect.stringMatching(/^Message from the operator: hurry up\n\n\(If an order also holds/),
    })
    expect(await home.kernel.use(Store).all('SELECT 1 FROM nudges WHERE delivered_at IS NULL')).toEqual([])
  })
})

describe('a goal strategy', () => {
  const strategy = (answer: unknown) =>
    definePlugin({ name: 'custom', setup: svc => svc.goalStrategy({ generateGoal: () => answer as never }) })

  it('of a plugin comes before the built-in loop, and its cost is booked', async () => {
    await using home = await testHostWithModel(script(finish()), {
      builtins: [strategy({ objective: 'Count the spoons twice', cost_usd: 0.25, tokens: 7 })],
    })
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    expect((await goalsOf(home, id))[0]?.objective).toBe('Count the spoons twice')
    expect((await detail(home, id)).cost_usd).toBeGreaterThanOrEqual(0.25)
  })

  it('that returns undefined leaves the choice to the built-in loop', async () => {
    await using home = await testHostWithModel(script(finish()), { builtins: [strategy(undefined)] })
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    expect((await goalsOf(home, id))[0]?.objective).toContain('Write piece number 1')
  })

  it.each([
    ['nothing', { objective: '', cost_usd: 0.5, tokens: 1 }, undefined],
    ['no object', 'a string', 'must be an object'],
    ['a negative cost', { objective: 'A fine objective', cost_usd: -1, tokens: 0 }, 'cost_usd: '],
    ['a megabyte', { objective: 'x'.repeat(1_000_000), cost_usd: 0.5, tokens: 1 }, 'objective: '],
  ])(
    'that answers %s creates no goal; its cost is booked, and an invalid answer is reported',
    async (_, answer, why) => {
      await using home = await testHostWithModel(script(finish()), { builtins: [strategy(answer)] })
      const id = await spawn(home)
      home.kernel.heartbeat.start()
      await until(home, 'cycle_end')
      expect(await goalsOf(home, id)).toEqual([])
      const cost = typeof answer === 'object' ? Math.max(0, answer.cost_usd) : 0
      expect((await detail(home, id)).cost_usd).toBe(cost)
      const [warned] = home.logged('goal strategy').map(({ msg }) => msg)
      expect(warned).toEqual(why && expect.stringMatching(`goal strategy custom is not a valid goal: .*${why}`))
    },
  )
})

it("an invalid answer of a message source is reported with its plugin's name", async () => {
  const odd = definePlugin({
    name: 'odd',
    setup: svc => void svc.add(PendingMessages, { name: 'five', pending: async () => 5 as never }),
  })
  await using home = await testHostWithModel(script(finish()), { builtins: [odd] })
  const id = await spawn(home)
  home.kernel.heartbeat.start()
  await until(home, 'cycle_end')
  expect((await detail(home, id)).error).toBe(
    'The answer of the message source "five" of odd is not valid: must be an object, not a number.',
  )
})

it('a plugin that uses the older extension point News still delivers its messages', async () => {
  const news = async () => ({ items: [{ from: 'A friend', text: 'The tide turns at four.' }], acknowledgements: [] })
  const earlier = definePlugin({ name: 'earlier', setup: svc => void svc.add(News, { name: 'friend', news }) })
  await using home = await testHostWithModel(script(finish()), { builtins: [earlier] })
  await spawn(home)
  home.kernel.heartbeat.start()
  await until(home, 'cycle_end')
  expect(JSON.stringify(home.server.requests[0]!.body.messages)).toContain('A friend: The tide turns at four.')
})

it("a prompt section that is not a string is reported with its plugin's name", async () => {
  const odd = definePlugin({
    name: 'odd',
    setup: svc =>
      void svc.add(PromptSections, {
        name: 'five',
        stage: 1,
        prompts: ['goal_generation'],
        text: async () => 5 as never,
      }),
  })
  await using home = await testHostWithModel(script(finish()), { builtins: [odd] })
  const id = await spawn(home)
  home.kernel.heartbeat.start()
  await until(home, 'cycle_end')
  expect((await detail(home, id)).error).toBe(
    'The text of the prompt section "five" of odd is not valid: must be a string, not a number.',
  )
})

describe('a verifier', () => {
  /** Opens a test host with a verifier, and records the claims that it is asked about. */
  const testHostWithVerifier = async (verify: GoalVerifier['verify'], ...steps: Parameters<typeof script>) => {
    const claims: GoalClaim[] = []
    const plugin = definePlugin({
      name: 'verifying',
      setup(svc) {
        svc.add(GoalVerifiers, {
          name: 'evidence',
          verify: claim => {
            claims.push(claim)
            return verify(claim)
          },
        })
      },
    })
    const home = await testHostWithModel(script(...steps), { builtins: [plugin] })
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    return Object.assign(home, { id, claims })
  }

  it('sends a goal back with its reason, which the agent reads before it goes on', async () => {
    await using home = await testHostWithVerifier(
      ({ evidence }) => (evidence.length === 0 ? 'no one can see it: say where it is' : undefined),
      finish('the piece is written'),
      toolCall('file_write', { path: 'piece.md', content: 'words' }),
      finish('the piece is written', ['piece.md']),
    )
    await until(home, 'goal_completed')
    const [goal] = await goalsOf(home, home.id)
    expect(goal).toMatchObject({ status: 'completed', result: 'the piece is written\n- piece.md', steps_completed: 3 })
    expect(home.server.requests[2]?.prompt).toContain(
      'Error: the goal is not finished: no one can see it: say where it is',
    )
    expect(home.claims).toMatchObject([
      { agent_id: home.id, goal_id: goal?.goal_id, objective: goal?.objective, evidence: [], unconfirmed: false },
      { summary: 'the piece is written', evidence: ['piece.md'] },
    ])
    expect(home.claims[0]?.workspace).toBe(join(home.root, '.svc/workspaces', home.id))
  })

  it('is also asked about an answer without calls', async () => {
    await using home = await testHostWithVerifier(
      ({ unconfirmed }) => (unconfirmed ? 'call finish_goal' : undefined),
      text('I am done.'),
      text('I really am.'),
      finish('done'),
    )
    await until(home, 'goal_completed')
    expect((await goalsOf(home, home.id))[0]).toMatchObject({ result: 'done', unconfirmed: false })
    expect(home.server.requests.at(-1)?.prompt).toContain('call finish_goal')
  })

  it.each([
    ['throws', () => Promise.reject(new Error('its server is gone')), 'its server is gone'],
    ['answers neither a reason nor nothing', () => true as never, 'it must return a non-empty reason, or nothing'],
  ])('that %s is ignored, and that is logged', async (_, verify, sentence) => {
    await using home = await testHostWithVerifier(verify, finish())
    await until(home, 'goal_completed')
    expect(home.logged(`The verifier "evidence" failed, which counts as no objection: ${sentence}`)).toHaveLength(1)
  })

  it('that never answers is ignored after the time limit of a tool', async () => {
    await using home = await testHostWithVerifier(() => new Promise(() => {}), finish())
    await until(() => home.claims.length === 1)
    const done = until(home, 'goal_completed')
    await home.clock.advance(60_000)
    await done
    expect(home.logged('The verifier "evidence" failed, which counts as no objection')).toHaveLength(1)
  })
})
