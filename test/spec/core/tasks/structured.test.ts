import { describe, expect, it } from 'vitest'
import { definePlugin, type SvcError, z } from '#kernel'
import { defineEffect, Effects, Store } from '#platform/store/contract'
import guardrails from '#safety/guardrails/index'
import { tool } from '#tools/toolkits/contract'
import { type Answer, type TestHost, tempDir, text, together, toolCall, until } from '../../../support/index.ts'
import { spawn } from '../models/model-host.ts'
import { all, finishedTask, rows, run, streamTask, taskOf, testHostWithTasks, textOf } from './tasks-host.ts'

const CITY = {
  type: 'object',
  properties: { name: { type: 'string' }, inhabitants: { type: 'integer', minimum: 1 } },
  required: ['name', 'inhabitants'],
  additionalProperties: false,
}
const BERN = { name: 'Bern', inhabitants: 137_000 }
const structured = { response_schema: CITY }
const json = (value: unknown) => text(JSON.stringify(value))
const lastPrompt = ({ server }: { server: { requests: readonly { prompt: string }[] } }) =>
  server.requests.at(-1)!.prompt

const refusal = (asking: Promise<unknown>) =>
  asking.then(
    () => undefined,
    (error: SvcError) => ({ status: error.status, message: error.message }),
  )

/** A toolkit for tasks with one tool, which looks up a city. */
const atlas = definePlugin({
  name: 'atlas',
  setup: svc =>
    svc.toolkit({
      name: 'memory',
      tools: [
        tool({
          name: 'look_up',
          description: 'Looks up a city.',
          parameters: z.object({ city: z.string() }),
          idempotent: true,
          execute: ({ city }) => `${city} has 137000 inhabitants`,
        }),
      ],
    }),
})

describe('a structured run', () => {
  it('answers with an object that fits the schema, and with the text that it was read from', async () => {
    await using home = await testHostWithTasks(() => json(BERN))
    const response = await run(home, await spawn(home), 'Where is the bear pit?', structured)
    expect(response).toMatchObject({ status: 'completed', parsed: BERN, output: JSON.stringify(BERN), error: null })
    expect(await taskOf(home, response.task_id)).toMatchObject({ parsed: BERN, response_schema: CITY })
    expect(JSON.stringify(home.server.requests[0]!.body)).toContain('inhabitants')
  })

  it.each([
    ['a code fence', `\`\`\`json\n${JSON.stringify(BERN, null, 2)}\n\`\`\``],
    ['prose', `Here it is: ${JSON.stringify(BERN)} I hope {that} helps.`],
    ['thoughts with a draft', `<think>{"name": "Basel", "inhabitants": 1}</think>\n${JSON.stringify(BERN)}`],
    ['a first draft', `{"name": "Bern"} or rather ${JSON.stringify(BERN)}`],
  ])('reads the object out of %s', async (_, answer) => {
    await using home = await testHostWithTasks(() => text(answer))
    const response = await run(home, await spawn(home), 'Which city?', structured)
    expect(response).toMatchObject({ status: 'completed', parsed: BERN, steps_taken: 1 })
  })

  it('reports a wrong answer to the model once, and accepts the corrected one', async () => {
    await using home = await testHostWithTasks((_, n) => json(n === 1 ? { ...BERN, inhabitants: 0 } : BERN))
    const response = await run(home, await spawn(home), 'Which city?', structured)
    expect(response).toMatchObject({ status: 'completed', parsed: BERN, steps_taken: 2 })
    expect(lastPrompt(home)).toMatch(/inhabitants: must be >= 1\. Answer again with one JSON object/)
    const bill = home.server.bill.map(({ input_tokens, output_tokens }) => input_tokens + output_tokens)
    expect(response.tokens).toBe(bill[0]! + bill[1]!)
  })

  it('fails with structured_parse_error and parsed: null when the correction is wrong too, and counts its cost', async () => {
    await using home = await testHostWithTasks(() => text('It is Bern.'))
    const response = await run(home, await spawn(home), 'Which city?', structured)
    expect(response).toMatchObject({
      status: 'failed',
      parsed: null,
      output: 'It is Bern.',
      steps_taken: 2,
      error: { code: 'structured_parse_error', status: 422, detail: expect.stringContaining('no JSON object') },
    })
    expect(response.tokens).toBeGreaterThan(0)
    expect(await rows(home, 'SELECT 1 FROM spend')).toHaveLength(2)
  })

  it('rejects an answer that is nested too deeply', async () => {
    await using home = await testHostWithTasks(() => text(`${'{"a":'.repeat(9000)}1${'}'.repeat(9000)}`))
    expect(await run(home, await spawn(home), 'Which city?', { response_schema: { type: 'object' } })).toMatchObject({
      status: 'failed',
      parsed: null,
      error: { code: 'structured_parse_error' },
    })
  })

  it('is repaired as often as the configuration allows, but not beyond max_steps', async () => {
    await using never = await testHostWithTasks(() => text('Bern'), { config: { tasks: { parse_repairs: 0 } } })
    expect(await run(never, await spawn(never), 'Which?', structured)).toMatchObject({ steps_taken: 1, parsed: null })
    await using thrice = await testHostWithTasks((_, n) => (n < 4 ? text('Bern') : json(BERN)), {
      config: { tasks: { parse_repairs: 3 } },
    })
    const id = await spawn(thrice)
    expect(await run(thrice, id, 'Which?', structured)).toMatchObject({ steps_taken: 4, parsed: BERN })
    thrice.server.enqueue(text('Bern'), text('Bern'))
    const short = await run(thrice, id, 'Which?', { ...structured, max_steps: 2 })
    expect(short).toMatchObject({ status: 'failed', steps_taken: 2, error: { code: 'structured_parse_error' } })
  })

  it('uses its tools first, and reads only the final answer by the schema', async () => {
    await using home = await testHostWithTasks(
      (_, n) => (n === 1 ? toolCall('look_up', { city: 'Bern' }) : json(BERN)),
      {
        builtins: [atlas],
      },
    )
    const response = await run(home, await spawn(home), 'How big is Bern?', structured)
    expect(response).toMatchObject({ status: 'completed', parsed: BERN, tool_calls_made: 1 })
    // Text beside a call is not an answer.
    home.server.enqueue(together(text('I look.'), toolCall('look_up', { city: 'Bern' })), json(BERN))
    expect(await run(home, (await taskOf(home, response.task_id)).agent_id, 'Again.', structured)).toMatchObject({
      status: 'completed',
      parsed: BERN,
      steps_taken: 2,
    })
  })

  it('streams the text of the last answer, and ends with the object', async () => {
    await using home = await testHostWithTasks((_, n) => json(n === 1 ? {} : BERN))
    const events = await all(await streamTask(home, await spawn(home), 'Which city?', structured))
    expect(textOf(events)).toBe(JSON.stringify(BERN))
    expect(finishedTask(events)).toMatchObject({ status: 'completed', parsed: BERN })
  })

  it('is the same request only with the same schema', async () => {
    await using home = await testHostWithTasks(() => json(BERN))
    const id = await spawn(home)
    const call = { idempotency_key: 'k' }
    const first = await run(home, id, 'Which city?', structured, call)
    expect(await run(home, id, 'Which city?', structured, call)).toEqual(first)
    expect(home.server.requests).toHaveLength(1)
    const other = { response_schema: { ...CITY, required: ['name'] } }
    for (const schema of [other, {}]) {
      await expect(run(home, id, 'Which city?', schema, call)).rejects.toThrow('was used by task')
    }
  })

  it('follows the guardrails: redacted text is redacted in the object, and blocked text gives no object', async () => {
    const config = { guardrails: { enabled: true } }
    await using home = await testHostWithTasks(() => json({ mail: 'ada@example.org' }), {
      builtins: [guardrails],
      config,
    })
    const schema = { type: 'object', properties: { mail: { type: 'string' } }, required: ['mail'] }
    const response = await run(home, await spawn(home), 'Whose mail?', { response_schema: schema })
    expect(response.status).toBe('completed')
    expect(JSON.stringify(response)).not.toContain('ada@')
    expect(response.parsed).toEqual(JSON.parse(response.output))
    await using strict = await testHostWithTasks(() => json({ mail: 'ada@example.org' }), {
      builtins: [guardrails],
      config: { guardrails: { enabled: true, pii_action: 'block' } },
    })
    const blocked = await run(strict, await spawn(strict), 'Whose mail?', { response_schema: schema })
    expect(blocked).toMatchObject({ status: 'failed', parsed: null, error: { code: 'structured_parse_error' } })
    expect(strict.server.requests).toHaveLength(1)
  })

  it.each([
    ['a type that is not object', { type: 'array', items: {} }, 'type must be "object"'],
    ['no type', { properties: {} }, 'type must be "object"'],
    ['an unknown type', { type: 'object', properties: { a: { type: 'nope' } } }, '/properties/a/type must be'],
    [
      'a reference to elsewhere',
      { type: 'object', properties: { a: { $ref: 'http://x.test/' } } },
      'resolve reference http://x.test/',
    ],
    ['a pattern that is none', { type: 'object', properties: { a: { pattern: '(' } } }, 'Invalid regular expression'],
    ['a format that no one checks', { type: 'object', properties: { a: { format: 'tide' } } }, 'unknown format "tide"'],
    [
      'a definition that is itself',
      { type: 'object', $defs: { a: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' },
      'leads back',
    ],
    ['itself in itself', { type: 'object', allOf: [{ $ref: '#' }] }, 'leads back to itself without end'],
    ['too much', { type: 'object', description: 'x'.repeat(32_001) }, 'the maximum is 32000'],
    ['no object', 'string', 'must be a JSON Schema'],
  ])('is rejected before any model call with %s', async (_, response_schema, problem) => {
    await using home = await testHostWithTasks(() => json(BERN))
    const id = await spawn(home)
    const refused = await refusal(run(home, id, 'Which city?', { response_schema }))
    expect(refused).toEqual({ status: 422, message: expect.stringContaining(problem) })
    expect(home.server.requests).toHaveLength(0)
  })

  it.each<[string, object, unknown, unknown]>([
    ['pattern', { pattern: '^x' }, 'xy', 'yx'],
    ['format', { type: 'string', format: 'date' }, '2026-01-31', '31.1.2026'],
    ['minLength', { minLength: 2 }, 'xy', 'x'],
    ['enum of objects', { enum: [{ x: 1 }] }, { x: 1 }, { x: 2 }],
    ['const', { const: { x: 1 } }, { x: 1 }, { x: 2 }],
    ['exclusiveMinimum', { exclusiveMinimum: 5 }, 6, 5],
    ['maxItems', { type: 'array', maxItems: 1 }, ['x'], ['x', 'y']],
    ['uniqueItems', { type: 'array', uniqueItems: true }, ['x', 'y'], ['x', 'x']],
    ['items without a type', { items: { type: 'string' } }, ['x'], [1]],
    ['required without properties', { type: 'object', required: ['x'] }, { x: 1 }, {}],
    ['additionalProperties', { type: 'object', additionalProperties: false }, {}, { x: 1 }],
    ['patternProperties', { patternProperties: { '^n_': { type: 'number' } } }, { n_x: 1 }, { n_x: 'x' }],
    ['$ref', { $ref: '#/$defs/short', minLength: 1 }, 'x', ''],
    ['oneOf', { oneOf: [{ type: 'number' }, { minimum: 5 }] }, 1, 6],
    ['anyOf beside a type', { type: 'object', anyOf: [{ required: ['x'] }] }, { x: 1 }, {}],
    ['allOf', { allOf: [{ type: 'string' }, { minLength: 2 }] }, 'xy', 'x'],
    ['not', { not: { type: 'string' } }, 1, 'x'],
    ['if', { if: { type: 'number' }, else: { minLength: 2 } }, 'xy', 'x'],
  ])('checks the answer against this part of the schema: %s', async (_, a, good, bad) => {
    const $defs = { short: { type: 'string', maxLength: 1 } }
    const response_schema = { type: 'object', properties: { a }, required: ['a'], $defs }
    await using home = await testHostWithTasks((_, n) => json({ a: n === 1 ? bad : good }))
    const response = await run(home, await spawn(home), 'Say a.', { response_schema })
    expect(response).toMatchObject({ status: 'completed', parsed: { a: good }, steps_taken: 2 })
  })

  it('is not blocked by a slow pattern', async () => {
    const schema = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } }, required: ['a'] }
    await using home = await testHostWithTasks(() => json({ a: `${'a'.repeat(5000)}!` }), {
      config: { tasks: { parse_repairs: 0 } },
    })
    expect(await run(home, await spawn(home), 'Say a.', { response_schema: schema })).toMatchObject({
      status: 'failed',
      parsed: null,
      error: {
        code: 'structured_parse_error',
        detail: expect.stringContaining('make the patterns of the schema simpler'),
      },
    })
  })
})

describe('a structured run that another process takes up', () => {
  /** Leaves a task like a process that dies after an answer was stored. */
  async function abandonTask(home: TestHost, task_id: string) {
    const sql = "UPDATE task_runs SET status = 'running', parsed = NULL, detached = 1, lease_until = 0, error = NULL"
    const leave = defineEffect({
      name: 'test.leave',
      schema: z.object({}),
      statements: () => [{ sql: `${sql} WHERE task_id = ?`, params: [task_id] }],
    })
    home.kernel.points.add(Effects, leave.kind, 'test')
    await home.kernel.use(Store).apply([leave({})])
  }
  const waitForEnd = (home: TestHost, task_id: string) =>
    until(async () => (await taskOf(home, task_id)).status !== 'running').then(() => taskOf(home, task_id))

  it('is completed by a stored answer, without asking again', async () => {
    await using home = await testHostWithTasks(() => json(BERN))
    const { task_id } = await run(home, await spawn(home), 'Which city?', structured)
    await abandonTask(home, task_id)
    expect(await waitForEnd(home, task_id)).toMatchObject({
      status: 'completed',
      parsed: BERN,
      output: JSON.stringify(BERN),
    })
    expect(home.server.requests).toHaveLength(1)
  })

  it('goes on with the problem of the stored answer, and counts the repairs already made', async () => {
    await using dir = await tempDir()
    const openHost = (parse_repairs: number, answer: Answer) =>
      testHostWithTasks(() => answer, { root: dir.path, config: { tasks: { parse_repairs } } })
    const task_id = await (async () => {
      await using first = await openHost(0, text('Bern'))
      const { task_id } = await run(first, await spawn(first), 'Which city?', structured)
      await abandonTask(first, task_id)
      return task_id
    })()
    {
      await using none = await openHost(0, json(BERN))
      expect(await waitForEnd(none, task_id)).toMatchObject({
        status: 'failed',
        error: { code: 'structured_parse_error' },
      })
      expect(none.server.requests).toHaveLength(0)
      await abandonTask(none, task_id)
    }
    await using once = await openHost(1, json(BERN))
    expect(await waitForEnd(once, task_id)).toMatchObject({ status: 'completed', parsed: BERN })
    expect(lastPrompt(once)).toContain('it contains no JSON object. Answer again')
  })
})
