import { describe, expect, it } from 'vitest'
import { createClient } from '#interfaces/rest/client'
import { project } from '../../../cli/project.ts'
import { text } from '../../../support/index.ts'
import { svc } from '../../../support/vitest/warm.ts'
import { startTaskServer } from './tasks-server.ts'

const ORDER = {
  type: 'object',
  properties: { pieces: { type: 'integer' }, article: { enum: ['bolts', 'nuts'] } },
  required: ['pieces', 'article'],
}
const TWELVE = { pieces: 12, article: 'nuts' }

describe('structured runs over HTTP', () => {
  it('accept response_schema in the body, and answer with parsed, or with null and the problem', async () => {
    const { ask, id } = await startTaskServer(({ n }) => text(n === 1 ? JSON.stringify(TWELVE) : 'Twelve nuts.'))
    const body = { instruction: 'Order 12 nuts.', response_schema: ORDER }
    const good = await ask(`/agents/${id}/tasks`, { method: 'POST', body })
    expect([good.status, good.json]).toMatchObject([200, { status: 'completed', parsed: TWELVE, error: null }])
    const bad = await ask(`/agents/${id}/tasks`, { method: 'POST', body })
    expect([bad.status, bad.json]).toMatchObject([
      200,
      {
        status: 'failed',
        parsed: null,
        output: 'Twelve nuts.',
        error: { code: 'structured_parse_error', status: 422 },
      },
    ])
    const task = await ask(`/tasks/${good.json.task_id}`)
    expect(task.json).toMatchObject({ parsed: TWELVE, response_schema: ORDER })
  })

  it('reject an invalid schema with a 422 that names the field', async () => {
    const { ask, id, model } = await startTaskServer(() => text('{}'))
    for (const response_schema of [{ type: 'array' }, [], 'x', { type: 'object', properties: { a: { type: 'b' } } }]) {
      const { status, json } = await ask(`/agents/${id}/tasks`, {
        method: 'POST',
        body: { instruction: 'Order.', response_schema },
      })
      expect({ status, path: json.errors[0].path }).toEqual({ status: 422, path: 'response_schema' })
    }
    expect(model.requests).toHaveLength(0)
  })

  it('are returned by the typed client, and at the end of a stream', async () => {
    const { url, id } = await startTaskServer(() => text(JSON.stringify(TWELVE)))
    const client = createClient({ baseUrl: url })
    const input = { id, instruction: 'Order 12 nuts.', response_schema: ORDER }
    expect((await client.tasks.run(input)).parsed).toEqual(TWELVE)
    for await (const { event, data } of client.tasks.stream(input)) {
      if (event === 'done') expect(data.parsed).toEqual(TWELVE)
    }
  })
})

describe('structured runs on the command line', () => {
  it('read their schema from a file, and print the object', async () => {
    await using dir = await project({
      'order.json': JSON.stringify(ORDER),
      'bad.json': '{',
      '.svc/config.yaml': 'model: {sim_delay: 0}\n',
    })
    const run = (...words: string[]) => svc(words, { cwd: dir.path })
    await run('spawn', 'coder')
    const shown = await run('task', 'run', 'coder', 'Order 12 nuts.', '--schema', 'order.json')
    expect(JSON.parse(shown.stdout)).toEqual(TWELVE)
    const printed = await run('task', 'run', 'coder', 'Order 12 nuts.', '--schema', 'order.json', '--json')
    expect(JSON.parse(printed.stdout)).toMatchObject({ status: 'completed', parsed: TWELVE })
    const missing = await run('task', 'run', 'coder', 'Order.', '--schema', 'none.json')
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('none.json') })
    const broken = await run('task', 'run', 'coder', 'Order.', '--schema', 'bad.json')
    expect(broken).toMatchObject({ code: 2, stderr: expect.stringContaining('bad.json is not JSON') })
    expect((await run('task', 'run', '--help')).stdout).toMatch(/--schema <file> +JSON Schema of type object/)
  })
})
