import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sanitize } from '#core/goals/contract'
import { Transcript } from '#core/goals/pursuit/transcript'
import type { Message } from '#core/models/contract'
import type { PlannedCall } from '#core/runtime/contract'
import { Store } from '#platform/store/contract'
import { type Answer, text, together, toolCall, until, waitUntilIdle } from '../../../support/index.ts'
import { finish, goalAnswer, recordingTools, results } from '../../safety/approvals-host.ts'
import { asksForGoal, detail, goalsOf, spawn, testHostWithModel } from '../models/model-host.ts'

/** Pursues one goal with these answers, then finishes it. Checks that each call is booked and has an outcome. */
async function pursueGoal(...answers: Answer[]) {
  const { runs, plugin } = recordingTools()
  const left = [...answers]
  const home = await testHostWithModel(
    request =>
      asksForGoal(request)
        ? goalAnswer(request.prompt.includes('Recent') ? '' : 'Look at something')
        : (left.shift() ?? finish()),
    { builtins: [plugin], config: { daemon: { max_retries: 0 } } },
  )
  const id = await spawn(home)
  home.kernel.heartbeat.start()
  await until(home, 'cycle_end', ({ result }) => result !== 'generated')
  await waitUntilIdle(home)
  const goal = (await goalsOf(home, id))[0]
  const billed = home.server.bill.filter(entry => entry.output_tokens > 0).length
  const booked = await home.kernel.use(Store).all('SELECT 1 FROM spend')
  expect(booked.length, 'each call of the model is booked').toBe(billed)
  const open = await home.kernel.use(Store).all("SELECT 1 FROM tool_calls WHERE state <> 'done'")
  expect(open, 'each call has an outcome').toEqual([])
  return Object.assign(home, { id, runs, goal })
}

describe('text that goes into a prompt', () => {
  it.each([
    ['a <b>bold</b> <!-- word --> </p>', 'a bold  '],
    ['<<b>i>x</<u>i>', 'x'],
    ['<a<b> >d', 'd'],
    ['<a <b>href="x">d</a ><BR/><!DOCTYPE html>', 'd'],
    ['1 < 2 > 0, <3> and <-', '1 < 2 > 0, <3> and <-'],
    ['<a < b>', '<a < b>'],
    [`<!--${'a'.repeat(198)}>${`<!--${'a'.repeat(199)}>`}`, `<!--${'a'.repeat(199)}>`],
    ['List<Note> for <file>.jsonl', 'List<Note> for <file>.jsonl'],
    ['a<b && c>d, i<a == b>c, Promise<P> and Map<K, V>', 'a<b && c>d, i<a == b>c, Promise<P> and Map<K, V>'],
    ['>\u200b>\u0007> \u202e<\u200bb>', '>>>'],
  ])('contains no HTML tags, however they are nested: %s', (given, clean) => {
    expect(sanitize(given)).toBe(clean.trim())
  })

  it('equals what repeated removal of the innermost tags leaves', () => {
    const innermost = (text: string): string => {
      const less = text.replace(/<(?:\/?(?:a|b) *|!--[^<>]{0,198})>/g, '')
      return less === text ? text.trim() : innermost(less)
    }
    const pieces = fc.constantFrom('<', '>', '</', '!--', 'a', 'b', ' ', '1', 'd'.repeat(99))
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 30 }), each => sanitize(each.join('')) === innermost(each.join(''))),
    )
  })

  it('is cleaned of a mebibyte of nested tags in one pass', () => {
    const n = 350_000
    expect(sanitize('<a'.repeat(n) + '>'.repeat(n))).toBe('')
  })
})

describe('mistakes of a model', () => {
  it.each([
    ['truncated JSON', '{"n": 1, "text": "cut off in the mid', /not valid JSON.*JSON Schema/],
    ['a list', '[1, 2]', /must be an object, not an array/],
    ['a number', '7', /must be an object, not a number/],
    ['null', 'null', /must be an object, not null/],
    ['a wrong type', '{"n":"one"}', /n: must be a number/],
    ['a text that is no object', '"just words"', /not valid JSON/],
    ['a nest without end', `{"n":1,"x":${'['.repeat(9000)}${']'.repeat(9000)}}`, /nested too deeply.*JSON Schema/],
  ])(
    'invalid arguments (%s) are reported to the model with the schema, and the tool does not run',
    async (_, args, message) => {
      await using home = await pursueGoal(toolCall('look', args))
      expect(home.runs).toEqual([])
      expect(results(home.server)[0]).toMatch(message)
      expect(home.goal).toMatchObject({ status: 'completed', steps_completed: 2 })
    },
  )

  it.each([
    ['nothing at all', '', {}],
    ['an object within a text', '"{\\"n\\":3}"', { n: 3 }],
    ['more than it takes', '{"n":3,"more":true}', { n: 3 }],
  ])('arguments that can only mean one thing (%s) are accepted', async (_, args, expected) => {
    await using home = await pursueGoal(toolCall('look', args))
    expect(home.runs).toEqual([{ tool: 'look', args: expected }])
  })

  it.each(['multi_tool_use.parallel', 'look up', '', 'x'.repeat(100_000)])(
    'a tool name that providers refuse is sent back in a form that they accept: %.30s',
    async name => {
      await using home = await pursueGoal(toolCall(name, {}))
      expect(home.server.refusals).toEqual([])
      expect(results(home.server)[0]).toMatch(/there is no tool/)
      expect(home.goal?.status).toBe('completed')
      const kept = await home.kernel.use(Store).all<{ tool: string }>('SELECT tool FROM tool_calls')
      expect(kept.map(({ tool }) => tool.length <= 128)).not.toContain(false)
    },
  )

  it('an unknown tool name is answered with the list of tools', async () => {
    await using home = await pursueGoal(toolCall(`no_such_tool${'x'.repeat(5_000)}`, {}))
    expect(results(home.server)[0]).toMatch(/there is no tool "no_such_toolx{50,}.*There are: .*look/)
    expect(results(home.server)[0]!.length).toBeLessThan(2_000)
  })

  it('calls with a repeated or missing id all run, each with an id of its own', async () => {
    const twice = together(
      toolCall('look', { n: 1 }, 'same'),
      toolCall('look', { n: 2 }, 'same'),
      toolCall('look', { n: 3 }, ''),
    )
    await using home = await pursueGoal(twice)
    expect(home.runs.map(run => run.args)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
    const asked = home.server.requests.at(-1)!.body.messages
    const ids = asked.flatMap(({ tool_calls = [] }) => tool_calls as { id: string }[]).map(({ id }) => id)
    expect(new Set(ids).size).toBe(3)
    expect(asked.filter(({ role }) => role === 'tool').map(message => message.tool_call_id)).toEqual(ids)
  })

  it('of 200 calls in one turn 32 run, and the model reads how many were dropped', async () => {
    await using home = await pursueGoal(together(...Array.from({ length: 200 }, (_, n) => toolCall('look', { n }))))
    expect(home.runs).toHaveLength(32)
    expect(results(home.server)).toHaveLength(32)
    expect(results(home.server)[31]).toMatch(/that answer held 200 tool calls.*the last 168 were dropped/)
    expect(results(home.server)[30]).not.toContain('dropped')
    expect(home.goal?.status).toBe('completed')
  })

  it('an answer that was cut off at its token limit does not complete the goal', async () => {
    const cut = text('I have done all of it, and', { finish_reason: 'length' })
    await using home = await pursueGoal(cut, cut, toolCall('look', { n: 1 }))
    expect(home.goal).toMatchObject({ status: 'completed', unconfirmed: false, steps_completed: 4 })
    expect(home.server.requests[2]?.prompt).toContain('cut off at its limit of tokens')
  })

  it('control characters and lone surrogates reach the tool unchanged', async () => {
    await using home = await pursueGoal(toolCall('look', { text: '\u0000\ud800\u001b[2J' }))
    expect(home.runs).toEqual([{ tool: 'look', args: { text: '\u0000\ud800\u001b[2J' } }])
    expect(home.goal?.status).toBe('completed')
  })

  it('text beside tool calls is kept, and the calls run', async () => {
    await using home = await pursueGoal(together(text('Let me look.'), toolCall('look', { n: 1 })))
    expect(home.runs).toHaveLength(1)
    expect(home.server.requests.at(-1)?.body.messages.some(({ content }) => content === 'Let me look.')).toBe(true)
  })

  it('an answer of more than a megabyte ends the cycle and is paid for, and the goal stays active', async () => {
    await using home = await pursueGoal(text('x'.repeat(1_200_000)))
    expect(home.goal?.status).toBe('active')
    expect((await detail(home, home.id)).error).toMatch(/longer than 1 MiB/)
  })
})

describe('pruning of a transcript', () => {
  const group = fc.record({ received: fc.nat(2), calls: fc.nat(4), order: fc.array(fc.nat(100), { maxLength: 4 }) })

  it('keeps the goal first, the last turn whole, and each call with its result, within any bound', () => {
    fc.assert(
      fc.property(fc.array(group, { minLength: 1, maxLength: 30 }), fc.integer({ min: 1, max: 40 }), (groups, max) => {
        let transcript = new Transcript([])
        let last = 0
        const stored = new Map<number, Message>()
        groups.forEach(({ received, calls, order }, step) => {
          // An answer without calls is empty here, and is not stored.
          last = calls || last
          const planned = Array.from({ length: calls }, (_, n): PlannedCall => {
            return { call_id: `a:1:${step}:${n}`, id: `c${step}-${n}`, name: 'look', arguments: {}, step }
          })
          const words = Array.from(
            { length: step === 0 ? 1 : received },
            (): Message => ({ role: 'user', content: `received ${step}` }),
          )
          const asked = planned.map(({ id, name, arguments: args }) => ({ id, name, arguments: args }))
          const answer: Message = { role: 'assistant', content: '', ...(calls > 0 ? { tool_calls: asked } : {}) }
          for (const { seq, message } of transcript.answer(words, answer, planned)) stored.set(seq, message)
          const kept = transcript.prune(max - calls)
          if (kept) for (const seq of stored.keys()) if (seq > 0 && seq < kept.from) stored.delete(seq)
          // Results arrive in any order, some of them in another process.
          const arriving = [...planned].sort(
            (a, b) => (order[planned.indexOf(a)] ?? 0) - (order[planned.indexOf(b)] ?? 0),
          )
          arriving.forEach((call, n) => {
            if (n === 1)
              transcript = new Transcript(
                [...stored].sort(([a], [b]) => a - b).map(([seq, message]) => ({ seq, message })),
              )
            const { seq, message } = transcript.outcome(call, { role: 'tool', tool_call_id: call.id, content: call.id })
            expect(stored.has(seq)).toBe(false)
            stored.set(seq, message)
          })
          const messages = [...stored].sort(([a], [b]) => a - b).map(([, message]) => message)
          expect(messages[0]).toEqual({ role: 'user', content: 'received 0' })
          expect(messages.length).toBeLessThanOrEqual(Math.max(max, 2 + last))
          const wanted = messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id))
          expect(messages.flatMap(({ tool_call_id }) => tool_call_id ?? [])).toEqual(wanted)
        })
      }),
      { numRuns: 500 },
    )
  })

  it('removes the oldest quarter at once, so that requests keep their beginning in between', () => {
    const [max, steps] = [200, 500]
    const transcript = new Transcript([])
    let pruned = 0
    for (let step = 0; step < steps; step++) {
      const call: PlannedCall = { call_id: `a:1:${step}:0`, id: `c${step}`, name: 'look', arguments: {}, step }
      const message: Message = {
        role: 'assistant',
        content: '',
        tool_calls: [{ id: call.id, name: 'look', arguments: {} }],
      }
      transcript.answer(step === 0 ? [{ role: 'user', content: 'The goal.' }] : [], message, [call])
      if (transcript.prune(max - 1)) pruned++
      transcript.outcome(call, { role: 'tool', tool_call_id: call.id, content: 'Seen.' })
      expect(transcript.messages.length).toBeLessThanOrEqual(max)
    }
    // A thousand messages, of which fifty are removed each time.
    expect(pruned).toBeGreaterThan(10)
    expect(pruned).toBeLessThan(20)
  })
})
