import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import schedules from '#platform/schedules/index'
import delegation from '#society/delegation/index'
import type { PatternRun } from '#society/patterns/contract'
import patterns from '#society/patterns/index'
import { example } from '../../examples/example.ts'
import {
  type ModelServerRequest,
  runHeartbeat,
  type TestHostOptions,
  text,
  toolCall,
  until,
} from '../../support/index.ts'
import { goalsOf, spawn } from '../core/models/model-host.ts'
import { use } from '../use.ts'
import { asksForGoal, goalOf, isOf, messages, NOTHING, rows, testHostWithMail } from './mail-host.ts'

type Home = Awaited<ReturnType<typeof testHostWithMail>>
const NAMES = ['ann', 'bob', 'cleo']

/** Returns a model whose agents answer with the result of `say`: undefined declines, null does not answer. */
const answering =
  (say: (me: string, question: string) => string | undefined | null) =>
  ({ prompt, ...rest }: ModelServerRequest) => {
    const request = { prompt, ...rest }
    const me = NAMES.find(name => isOf(request, name))!
    const asked = [
      ...prompt.matchAll(/Message (msg-[\w-]+) \(\w+\) from [^\n]*an answer[^<]*<<< and >>>[^<]*<<<\n([\s\S]*?)\n>>>/g),
    ]
    if (asksForGoal(request)) {
      const first = asked.find(([, , body]) => say(me, body!) !== null)
      return first ? goalOf(`Answer the message ${first[1]} that came`) : NOTHING
    }
    if (prompt.includes('Goal: Answer the message')) {
      const id = /Goal: Answer the message (\S+) /.exec(prompt)![1]!
      const results = rest.body.messages.filter(({ role }) => role === 'tool')
      if (results.length === 0) return toolCall('read_message', { id })
      if (results.length > 1) return toolCall('finish_goal', { summary: 'Answered.' })
      const said = say(me, results[0]!.content ?? '')
      return said === undefined
        ? toolCall('reject_request', { id, reason: 'no time' })
        : toolCall('reply', { id, body: said })
    }
    return toolCall('finish_goal', { summary: `${me} did it` })
  }

const openHost = (script: Parameters<typeof testHostWithMail>[0], options: TestHostOptions = {}) =>
  testHostWithMail(script, { config: { daemon: { heartbeat: 30 } }, ...options, builtins: [delegation, patterns] })

/** Starts a pattern of ann and runs the agents until it ends. */
async function runPattern(home: Home, name: string, participants: string[], task: string, more: object = {}) {
  for (const agent of NAMES) await spawn(home, agent)
  const start = { name, initiator: 'ann', participants, task, ...more }
  const { pattern_id } = (await home.kernel.invoke('patterns.start', start)) as PatternRun
  const run = () => home.kernel.invoke('patterns.get', { pattern_id }) as Promise<PatternRun>
  home.kernel.heartbeat.start()
  for (let n = 0; n < 40 && (await run()).status === 'running'; n++) await runHeartbeat(home)
  return run()
}

describe('a built-in pattern', () => {
  it('is waited for by the goal for which it was started, if its agent says so, until it ends', async () => {
    const asked: string[] = []
    await using home = await openHost(
      request => {
        if (!isOf(request, 'ann')) return NOTHING
        if (asksForGoal(request)) return NOTHING
        asked.push(request.prompt)
        const pattern = { pattern: 'swarm', participants: ['bob', 'cleo'], task: 'Name a fish.', files: ['pond.md'] }
        if (asked.length === 1) return toolCall('file_write', { path: 'pond.md', content: 'Deep.' })
        if (asked.length === 2) return toolCall('start_pattern', pattern)
        if (asked.length === 3) return toolCall('finish_goal', { summary: 'Asked.' })
        if (asked.length === 4) return text(`I wait for ${/Started as (\S+)\./.exec(request.prompt)![1]}.`)
        return toolCall('finish_goal', { summary: 'None was named.' })
      },
      { config: { daemon: { heartbeat: 30 }, patterns: { answer_timeout: 300 } } },
    )
    const [ann, bob, cleo] = [await spawn(home, 'ann'), await spawn(home, 'bob'), await spawn(home, 'cleo')]
    await home.kernel.invoke('goals.add', { id: ann, objective: 'Have a fish named' })
    const goal = async () => (await goalsOf(home, ann!))[0]!
    home.kernel.heartbeat.start()
    await until(async () => (await goal()).waits_for !== null || void (await runHeartbeat(home)))
    expect((await goal()).waits_for).toMatch(/^\S+ \(swarm\)$/)
    for (let n = 0; n < 5; n++) await runHeartbeat(home)
    expect(asked).toHaveLength(4)
    expect(asked[3]).toMatch(
      /Work that you gave for this goal has not ended: pat-\w+ \(swarm\)\. To wait for it, answer "I wait"/,
    )
    for (const [name, id] of Object.entries({ bob, cleo })) {
      const asking = home.server.requests.find(
        request => isOf(request, name) && request.prompt.includes('Name a fish.'),
      )
      const [, path] = /Files, copied into your own folder: (\S+)/.exec(asking!.prompt)!
      expect(await readFile(join(home.root, '.svc/workspaces', id!, path!), 'utf8')).toBe('Deep.')
    }
    home.clock.jump(300_000)
    await until(async () => (await goal()).status === 'completed' || void (await runHeartbeat(home)))
    expect(asked).toHaveLength(5)
  })

  it('review repeats feedback and revision until the work is approved', async () => {
    const say = (me: string, question: string) =>
      me === 'ann'
        ? 'Sheep are white.'
        : question.includes('Sheep are white.')
          ? 'APPROVED, well done.'
          : 'CHANGES: say the colour.'
    await using home = await openHost(answering(say))
    const run = await runPattern(home, 'review', ['bob'], 'Sheep are animals.')
    expect(run).toMatchObject({
      status: 'completed',
      result: { approved: true, rounds: 2, work: 'Sheep are white.' },
      messages: 6,
    })
    const sent = (await messages(home, 'bob')).reverse()
    expect(sent.map(({ type }) => type)).toEqual(['review', 'feedback', 'request', 'response', 'review', 'feedback'])
    const [, , revise, , again] = sent
    expect(revise?.subject).toMatch(/^Changes, round 1 of 3 \(sent by the pattern review for ann-\w+\)$/)
    expect(revise?.body).toContain('Your work:\nSheep are animals.\n\nThe review:\nCHANGES: say the colour.')
    expect(again?.body).toContain(
      'The first version:\nSheep are animals.\n\nYour last review:\nCHANGES: say the colour.\n\nThe version after your last review:\nSheep are white.',
    )
    // What the pattern passes on is read once.
    const read = home.server.requests.filter(({ prompt }) => prompt.includes('(feedback) from bob'))
    expect(read[0]?.prompt).toContain('it answers the review that a pattern sent in your name')
    expect(read.filter(({ prompt }) => prompt.includes('Subject: Re: Review, round 1'))).toEqual([])
  })

  it('mentor alternates answers and questions until all is clear', async () => {
    const say = (me: string, question: string) =>
      me === 'bob'
        ? question.includes('Why')
          ? 'Because of wool.'
          : 'Shear them.'
        : question.includes('wool')
          ? 'CLEAR'
          : 'Why?'
    await using home = await openHost(answering(say))
    const run = await runPattern(home, 'mentor', ['bob'], 'How do I keep sheep?', { rounds: 5 })
    expect(run).toMatchObject({
      status: 'completed',
      result: { guidance: ['Shear them.', 'Because of wool.'] },
      messages: 8,
    })
    const asked = (await messages(home, 'bob')).filter(({ type }) => type === 'query').map(({ body }) => body)
    expect(asked).toContain(
      'The question before:\nHow do I keep sheep?\n\nYour answer:\nShear them.\n\nThe next question:\nWhy?',
    )
    expect(asked.filter(body => body.endsWith('You asked:\nWhy?\n\nThe answer:\nBecause of wool.'))).toHaveLength(1)
  })

  it('debate lets both sides speak in turn, each with the last words of both', async () => {
    const received: string[] = []
    const say = (me: string, question: string) => {
      const own = /You said before:\n(.*)/.exec(question)?.[1]
      received.push(`${own ? `${own}, ` : ''}${me}<${/The other side said:\n(.*)/.exec(question)?.[1] ?? ''}`)
      return `${me} says so`
    }
    await using home = await openHost(answering(say))
    const run = await runPattern(home, 'debate', ['bob', 'cleo'], 'Sheep are clever.', { rounds: 2 })
    const { arguments: said } = run.result as { arguments: { side: string; round: number }[] }
    expect(run.status).toBe('completed')
    expect(said.map(({ side, round }) => `${side.split('-')[0]} ${round}`)).toEqual([
      'bob 1',
      'cleo 1',
      'bob 2',
      'cleo 2',
    ])
    expect(new Set(received)).toEqual(
      new Set(['bob<', 'cleo<bob says so', 'bob says so, bob<cleo says so', 'cleo says so, cleo<bob says so']),
    )
  })

  it('chain ends at a part that fails, whose reason is no result to build on', async () => {
    await using home = await openHost(request => {
      if (asksForGoal(request)) return NOTHING
      const isBob = isOf(request, 'bob')
      return toolCall('finish_goal', { reached: !isBob, summary: isBob ? 'I see no sheep.' : 'done' })
    })
    await spawn(home, 'dora')
    const run = await runPattern(home, 'chain', ['cleo', 'bob', 'dora'], 'Count the sheep.')
    expect(run).toMatchObject({
      status: 'declined',
      result: { reason: 'Declined: I see no sheep.', results: [{ result: 'done' }] },
    })
    expect(home.server.requests.filter(request => isOf(request, 'dora') && !asksForGoal(request))).toEqual([])
  })

  it('chain delegates each part with the result of the part before', async () => {
    await using home = await openHost(answering(() => null))
    const task = `Count the sheep.\n\nWrite down each: ${'white, '.repeat(200)}and black.`
    const run = await runPattern(home, 'chain', ['bob', 'cleo'], task)
    expect(run).toMatchObject({ status: 'completed', result: { output: 'cleo did it' } })
    for (const name of ['bob', 'cleo'])
      expect((await goalsOf(home, name)).map(({ objective }) => objective)).toEqual(['Count the sheep.'])
    const openings = home.server.requests.filter(({ prompt }) => prompt.includes('Goal: Count the sheep.'))
    expect(openings.filter(({ prompt }) => prompt.includes('and black.')).length).toBe(openings.length)
    expect(openings.find(request => isOf(request, 'cleo'))?.prompt).toMatch(
      /This is part 2 of 2\. The result of the previous part, by bob-\w+:\n\nbob did it\n>>>/,
    )
  })

  it('swarm asks all at once, until each has answered or declined', async () => {
    await using home = await openHost(answering(me => (me === 'bob' ? undefined : `${me} counted 7`)))
    const run = await runPattern(home, 'swarm', ['bob', 'cleo'], 'How many sheep?')
    const { answers } = run.result as { answers: { agent: string; declined: boolean; answer: string }[] }
    expect(run.status).toBe('completed')
    expect(answers.map(({ declined, answer }) => [declined, answer]).sort()).toEqual([
      [false, 'cleo counted 7'],
      [true, 'no time'],
    ])
  })
})

describe('a running pattern', () => {
  it.each([
    ['completed', 'cleo'],
    ['cancelled', undefined],
  ])('wakes the goal that waits for it once, with all answers, when it is %s', async (status, last) => {
    const asked: string[] = []
    let mayAnswer = ['bob']
    const answer = answering(me => (mayAnswer.includes(me) ? `${me} counted 7` : null))
    await using home = await testHostWithMail(
      request => {
        if (!isOf(request, 'ann')) return answer(request)
        if (asksForGoal(request)) return NOTHING
        asked.push(request.prompt)
        if (asked.length === 1)
          return toolCall('start_pattern', { pattern: 'swarm', participants: ['bob', 'cleo'], task: 'How many sheep?' })
        return asked.length === 2 ? text('I wait for the pattern.') : toolCall('finish_goal', { summary: 'Counted.' })
      },
      { config: { daemon: { heartbeat: 30 } }, builtins: [delegation, patterns, schedules] },
    )
    const [ann, , cleo] = await Promise.all(NAMES.map(agent => spawn(home, agent)))
    await home.kernel.invoke('goals.add', { id: ann, objective: 'Have the sheep counted' })
    home.kernel.heartbeat.start()
    const run = async () => ((await home.kernel.invoke('patterns.runs', {})) as PatternRun[])[0]
    await until(async () => (await run())?.waits_for.length === 1 || void (await runHeartbeat(home)))
    expect((await run())!.waits_for).toEqual([cleo])
    for (let n = 0; n < 3; n++) await runHeartbeat(home)
    expect(asked).toHaveLength(2)
    const { pattern_id } = (await run())!
    if (last) {
      mayAnswer = ['cleo']
      await home.kernel.invoke('agents.nudge', { id: cleo!, message: 'Answer what you were asked.' })
    } else await home.kernel.invoke('patterns.cancel', { pattern_id })
    await until(async () => (await goalsOf(home, ann!))[0]!.status === 'completed' || void (await runHeartbeat(home)))
    expect(asked).toHaveLength(3)
    expect(asked[2]).toContain(`The pattern ${pattern_id} (swarm) that you started has ended: ${status}.`)
    expect(asked[2]).toContain('bob counted 7')
    expect(await run()).toMatchObject({ status, waits_for: [] })
  })

  it('times out with partial results', async () => {
    await using home = await openHost(answering(me => (me === 'cleo' ? 'seven' : null)))
    const run = await runPattern(home, 'swarm', ['bob', 'cleo'], 'How many sheep?', { timeout: 120 })
    expect(run).toMatchObject({ status: 'timed_out', result: { answers: [{ answer: 'seven', declined: false }] } })
  })

  it('ends when a participant declines, also by policy, and when it is cancelled', async () => {
    await using home = await openHost(
      answering(() => null),
      { config: { daemon: { heartbeat: 30 }, delegation: { accept: false } } },
    )
    const run = await runPattern(home, 'chain', ['bob'], 'Count the sheep.')
    expect(run).toMatchObject({ status: 'declined', result: { reason: expect.stringContaining('delegation.accept') } })
    const start = { name: 'mentor', initiator: 'ann', participants: 'bob', task: 'How?' }
    const { pattern_id } = (await home.kernel.invoke('patterns.start', start)) as PatternRun
    const ended = (await home.kernel.invoke('patterns.cancel', { pattern_id })) as PatternRun
    expect(ended).toMatchObject({ status: 'cancelled', result: { guidance: [] } })
  })

  it('counts a deleted or silent participant as declining, and still asks the others', async () => {
    await using home = await openHost(
      answering(me => (me === 'cleo' ? 'seven' : null)),
      { config: { daemon: { heartbeat: 30 }, patterns: { answer_timeout: 100 } } },
    )
    const ids = await Promise.all(NAMES.map(agent => spawn(home, agent)))
    const dora = await spawn(home, 'dora')
    const start = { name: 'swarm', initiator: 'ann', participants: ['bob', 'cleo', 'dora'], task: 'How many sheep?' }
    const { pattern_id } = (await home.kernel.invoke('patterns.start', start)) as PatternRun
    await home.kernel.invoke('agents.delete', { id: dora })
    await home.kernel.invoke('agents.pause', { id: ids[1]! })
    home.kernel.heartbeat.start()
    const run = () => home.kernel.invoke('patterns.get', { pattern_id }) as Promise<PatternRun>
    for (let n = 0; n < 10 && (await run()).status === 'running'; n++) await runHeartbeat(home)
    expect(await run()).toMatchObject({
      status: 'completed',
      result: {
        answers: [
          { agent: ids[1], declined: true, answer: expect.stringContaining('has not answered within 100 s') },
          { agent: ids[2], declined: false, answer: 'seven' },
          { agent: dora, declined: true, answer: expect.stringContaining('is dead or was deleted') },
        ],
      },
    })
    // A pattern is deleted together with its initiator.
    const next = (await home.kernel.invoke('patterns.start', { ...start, participants: ['bob'] })) as PatternRun
    await home.kernel.invoke('agents.delete', { id: ids[0]! })
    await expect(home.kernel.invoke('patterns.get', { pattern_id: next.pattern_id })).rejects.toMatchObject({
      status: 404,
    })
  })

  it('ends when its budget is spent: its open work is abandoned, and other work is not charged', async () => {
    await using home = await openHost(request => (asksForGoal(request) ? NOTHING : toolCall('list_dir', { path: '.' })))
    const [, bob] = [await spawn(home, 'ann'), await spawn(home, 'bob'), await spawn(home, 'cleo')]
    const start = { name: 'chain', initiator: 'ann', participants: ['bob', 'cleo'], task: 'Count the sheep.' }
    const begun = (await home.kernel.invoke('patterns.start', { ...start, budget_tokens: 3_000 })) as PatternRun
    expect(begun).toMatchObject({ budget: { usd: null, tokens: 3_000 }, spent: { usd: 0, tokens: 0 } })
    home.kernel.heartbeat.start()
    const run = () => home.kernel.invoke('patterns.get', begun) as Promise<PatternRun>
    for (let n = 0; n < 20 && (await run()).status === 'running'; n++) await runHeartbeat(home)
    const { status, spent } = await run()
    expect(status).toBe('over_budget')
    const goals = await goalsOf(home, bob)
    expect(goals.map(goal => [goal.origin, goal.status])).toEqual([['delegated', 'abandoned']])
    // It ends before the next call after the budget was exceeded.
    const bill = home.server.bill.map(({ input_tokens, output_tokens }) => input_tokens + output_tokens)
    expect(spent.tokens).toBeGreaterThanOrEqual(3_000)
    expect(spent.tokens - Math.max(...bill)).toBeLessThan(3_000)
    const calls = home.server.requests.length
    for (let n = 0; n < 3; n++) await runHeartbeat(home)
    expect(home.server.requests.slice(calls).filter(({ prompt }) => prompt.includes('Goal: Count'))).toEqual([])
  })

  it('sends each step once, however often it is checked', async () => {
    await using home = await openHost(() => NOTHING)
    for (const agent of NAMES) await spawn(home, agent)
    const start = { name: 'swarm', initiator: 'ann', participants: ['bob', 'cleo'], task: 'How many?' }
    const { pattern_id } = (await home.kernel.invoke('patterns.start', start)) as PatternRun
    await Promise.all(Array.from({ length: 10 }, () => home.kernel.hooks.emit('beat', { beat: 1 })))
    const sent = await rows(home, 'SELECT message_id FROM a2a_messages WHERE pattern_id = ?', [pattern_id])
    expect(sent).toHaveLength(2)
  })
})

describe('patterns', () => {
  it('are rejected with a reason when their input is invalid', async () => {
    await using home = await openHost(() => NOTHING, { config: { patterns: { max_running: 1 } } })
    for (const agent of NAMES) await spawn(home, agent)
    const start = (more: object) =>
      home.kernel.invoke('patterns.start', {
        name: 'review',
        initiator: 'ann',
        participants: ['bob'],
        task: 'x',
        ...more,
      })
    await expect(start({ name: 'waltz' })).rejects.toMatchObject({
      code: 'pattern_not_found',
      message: /review, mentor/,
    })
    await expect(start({ participants: ['bob', 'cleo'] })).rejects.toMatchObject({ code: 'pattern_participants' })
    await expect(start({ participants: ['ann'] })).rejects.toMatchObject({ message: expect.stringContaining('twice') })
    await expect(start({ participants: ['../x'] })).rejects.toMatchObject({ code: 'agent_not_found' })
    await expect(start({ participants: 7 })).rejects.toMatchObject({
      errors: [{ path: 'participants', message: 'must be a list of agents' }],
    })
    await expect(start({ participants: `bob,${'x'.repeat(200)}` })).rejects.toMatchObject({
      errors: [{ path: 'participants.1', message: expect.stringContaining('at most') }],
    })
    await start({})
    await expect(start({})).rejects.toMatchObject({ code: 'too_many_patterns', status: 409 })
  })

  it('of plugins run like the built-in ones, and agents can start them with a tool', async () => {
    let asked = 0
    const answers = answering(me => `hello from ${me}`)
    await using home = await testHostWithMail(
      request => {
        if (!isOf(request, 'ann') || request.prompt.includes('Answer the message')) return answers(request)
        if (asksForGoal(request)) return asked++ ? answers(request) : goalOf('Greet everybody around here')
        return request.body.messages.some(({ role }) => role === 'tool')
          ? toolCall('finish_goal', { summary: 'Done.' })
          : toolCall('start_pattern', { pattern: 'greet', participants: ['bob'], task: 'hello' })
      },
      {
        config: { daemon: { heartbeat: 30 } },
        builtins: [delegation, patterns],
        plugins: {
          'greet.ts': `import { definePlugin, CollaborationPatterns } from 'svc'
            export default definePlugin({ name: 'greet', setup(svc) {
              svc.add(CollaborationPatterns, {
                name: 'greet', summary: 'One greets the other', participants: { min: 1, max: 1 }, rounds: { usual: 1, max: 1 },
                next: ({ initiator, participants, answerTo }) => answerTo('hi') ? { end: 'completed', result: { said: answerTo('hi').body } }
                  : { send: [{ step: 'hi', type: 'query', from: initiator, to: participants[0], subject: '', body: 'hello' }] },
                partial: () => ({}),
              })
            } })`,
        },
      },
    )
    for (const agent of ['ann', 'bob']) await spawn(home, agent)
    const ended = until(home, 'pattern_ended')
    home.kernel.heartbeat.start()
    for (let n = 0; n < 8; n++) await runHeartbeat(home)
    expect(await ended).toMatchObject({ name: 'greet', status: 'completed' })
    expect(await home.kernel.invoke('patterns.runs', {})).toMatchObject([{ result: { said: 'hello from bob' } }])
    const [run] = (await home.kernel.invoke('patterns.runs', {})) as PatternRun[]
    const statusFor = (agent_id: string) => use(home, 'pattern_status', { id: run!.pattern_id }, { agent_id })
    expect(await statusFor(run!.initiator)).toContain('(greet) is completed')
    expect(await statusFor('cleo')).toBe(
      `error: You take part in no pattern run "${run!.pattern_id}"; start_pattern returned the ids of yours.`,
    )
  })

  it('of the example count the votes of agents, without those that stay silent', async () => {
    const votes: Record<string, string> = { bob: 'Wool', cleo: 'wool' }
    await using home = await testHostWithMail(
      answering(me => votes[me] ?? null),
      {
        config: { daemon: { heartbeat: 30 }, patterns: { answer_timeout: 100 } },
        builtins: [delegation, patterns],
        plugins: example('collaboration-pattern.ts'),
      },
    )
    await spawn(home, 'dora')
    const run = await runPattern(home, 'vote', ['bob', 'cleo', 'dora'], 'Which is the better name?')
    expect(run).toMatchObject({ status: 'completed', result: { winner: 'wool', votes: ['wool', 'wool'] } })
  })
})
