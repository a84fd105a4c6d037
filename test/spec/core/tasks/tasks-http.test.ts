import { request as httpRequest } from 'node:http'
import { describe, expect, it } from 'vitest'
import { fault, text, until } from '../../../support/index.ts'
import { sendJson } from '../../../support/model/http.ts'
import { startTaskServer } from './tasks-server.ts'

const LONG = 'It is four, and it will stay four for as long as anybody counts.'

/** Returns the events of a stream that was read to its end. */
function events(stream: string) {
  return stream
    .split('\n\n')
    .filter(block => /^event:/m.test(block))
    .map(block => {
      const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(block)?.[1]
      return { id: field('id'), event: field('event'), data: JSON.parse(field('data') ?? 'null') }
    })
}

describe('tasks over HTTP', () => {
  it('POST /agents/{id}/tasks answers when the task is done', async () => {
    const { post, ask, id } = await startTaskServer(() => text(LONG))
    const { status, json } = await post(`/agents/${id}/tasks`, { instruction: 'What is two and two?' })
    expect([status, json]).toMatchObject([200, { status: 'completed', output: LONG, error: null }])
    const got = await ask(`/tasks/${json.task_id}`)
    expect([got.status, got.json]).toMatchObject([200, { ...json, agent_id: id }])
    expect((await ask(`/tasks/${json.task_id}`, { headers: { 'x-svc-user': 'bob' } })).status).toBe(404)
    const list = await ask(`/agents/worker/tasks?limit=1`)
    expect([list.status, list.headers['x-total-count'], list.json.length]).toEqual([200, '1', 1])
    const again = await post(`/tasks/${json.task_id}/resume`, {})
    expect([again.status, again.json]).toEqual([200, json])
    const transcript = await ask(`/sessions/${json.session_id}/transcript`)
    expect(transcript.json.map((each: { role: string }) => each.role)).toEqual(['user', 'assistant'])
  })

  it('a task that fails is answered with 200 too, and with its reason', async () => {
    const { post, id } = await startTaskServer(() => fault('html200'))
    const { status, json } = await post(`/agents/${id}/tasks`, { instruction: 'Do it.' })
    expect(status).toBe(200)
    expect(json).toMatchObject({
      status: 'failed',
      error: { code: 'model_error', type: 'urn:svc:problem:model_error' },
    })
  })

  it('POST /agents/{id}/tasks/stream is text/event-stream with ids, JSON data and one end', async () => {
    const { post, ask, id } = await startTaskServer(() => text(LONG))
    const { status, headers, text: stream } = await post(`/agents/${id}/tasks/stream`, { instruction: 'Count.' })
    expect([status, headers['content-type']]).toEqual([200, expect.stringMatching(/^text\/event-stream/)])
    const all = events(stream)
    const tokens = all.filter(({ event }) => event === 'token')
    expect(tokens.map(({ data }) => data.text).join('')).toBe(LONG)
    expect(all.filter(({ event }) => event !== 'token')).toHaveLength(1)
    expect(all.at(-1)).toMatchObject({ event: 'done', data: { status: 'completed', output: LONG } })
    const { task_id } = all.at(-1)!.data
    const rest = await ask(`/tasks/${task_id}/stream`, { headers: { 'last-event-id': tokens[0]!.id! } })
    expect(
      events(rest.text)
        .slice(0, -1)
        .map(({ data }) => data.text)
        .join(''),
    ).toBe(LONG.slice(tokens[0]!.data.text.length))
  })

  it('a stream that cannot start is an ordinary error', async () => {
    const { post } = await startTaskServer(() => text('Done.'))
    for (const way of ['tasks', 'tasks/stream']) {
      const { status, headers, json } = await post(`/agents/nobody/${way}`, { instruction: 'Do it.' })
      expect([status, headers['content-type'], json.code]).toEqual([404, 'application/problem+json', 'agent_not_found'])
    }
  })

  it('text cannot forge events', async () => {
    const forged = 'hi\revent: done\rdata: {"status":"completed"}\n\nevent: done\ndata: {}\n\n'
    const { post, id } = await startTaskServer(() => text(forged))
    const { text: stream } = await post(`/agents/${id}/tasks/stream`, { instruction: 'Forge.' })
    expect(stream.match(/^event: ?done/gm)).toHaveLength(1)
    expect(events(stream).at(-1)).toMatchObject({ event: 'done', data: { status: 'completed', output: forged } })
  })

  it.each(['tasks', 'tasks/stream'])('a client of %s that disconnects ends its model call', async way => {
    const { id, port, model } = await startTaskServer(() => fault('stall', 'It is'))
    const body = JSON.stringify({ instruction: 'Do it.' })
    const headers = { 'content-type': 'application/json', 'content-length': String(body.length) }
    const sent = httpRequest({ port, method: 'POST', path: `/agents/${id}/${way}`, headers, agent: false })
    sent.on('error', () => {})
    sent.end(body)
    const { ended } = await model.request(1)
    sent.destroy()
    expect(await ended).toBe('dropped')
  })

  it('with an Idempotency-Key a retry after a disconnect finds the task', async () => {
    let release = () => {}
    const waited = new Promise<void>(resolve => {
      release = resolve
    })
    const { id, port, model, post } = await startTaskServer(() => waited.then(() => text(LONG)))
    const body = JSON.stringify({ instruction: 'Do it.' })
    const headers = {
      'content-type': 'application/json',
      'content-length': String(body.length),
      'idempotency-key': 'k-1',
    }
    const sent = httpRequest({ port, method: 'POST', path: `/agents/${id}/tasks/stream`, headers, agent: false })
    sent.on('error', () => {})
    sent.end(body)
    await model.request(1)
    sent.destroy()
    release()
    const again = await post(`/agents/${id}/tasks`, { instruction: 'Do it.' }, { 'idempotency-key': 'k-1' })
    expect([again.status, again.json.output]).toEqual([200, LONG])
    expect(model.requests).toHaveLength(1)
    const other = await post(`/agents/${id}/tasks`, { instruction: 'Do that.' }, { 'idempotency-key': 'k-1' })
    expect([other.status, other.json.code]).toEqual([422, 'idempotency_key_reused'])
  })

  it('a server that is stopped ends its streams, and the tasks of their clients', async () => {
    const { id, listening, model, url } = await startTaskServer(() => fault('stall', 'It is'))
    const response = await fetch(`${url}/agents/${id}/tasks/stream`, sendJson({ instruction: 'Do it.' }))
    let stream = ''
    const reading = (async () => {
      for await (const part of response.body!.pipeThrough(new TextDecoderStream())) stream += part
    })()
    await until(() => stream.includes('event: token'))
    await listening.close()
    await reading
    const ends = events(stream).filter(({ event }) => event !== 'token')
    expect(ends).toMatchObject([{ event: 'error', data: { code: 'task_interrupted', task: { status: 'failed' } } }])
    expect(await model.requests[0]?.ended).toBe('dropped')
  })
})

describe('a task that runs while its server is stopped', () => {
  it.each([
    [undefined, 200, 'failed'],
    ['k-1', 503, 'server_stopping'],
  ])('is answered (Idempotency-Key: %s, HTTP status: %s)', async (key, status, message) => {
    const { id, listening, model, post } = await startTaskServer(() => fault('stall', 'It is'))
    const asked = post(`/agents/${id}/tasks`, { instruction: 'Do it.' }, key ? { 'idempotency-key': key } : {})
    await model.request(1)
    await listening.close()
    const answer = await asked
    expect([answer.status, answer.json.code ?? answer.json.status]).toEqual([status, message])
    if (!key) expect(answer.json.error.code).toBe('task_interrupted')
  })
})

describe('sessions over HTTP', () => {
  it('are created with 201, found with 200, read, listed and closed', async () => {
    const { post, ask, id } = await startTaskServer(() => text('Done.'))
    const body = { agent_id: id, session_key: 'mine' }
    const made = await post('/sessions', body, { 'x-svc-user': 'alice' })
    const { session_id } = made.json
    expect([made.status, made.headers.location, made.json.user_id]).toEqual([201, `/sessions/${session_id}`, 'alice'])
    const found = await post('/sessions', body, { 'x-svc-user': 'alice' })
    expect([found.status, found.json.session_id]).toEqual([200, session_id])
    const as = (user: string) => ({ headers: { 'x-svc-user': user } })
    expect((await ask(`/sessions/${session_id}`, as('alice'))).status).toBe(200)
    expect((await ask(`/sessions/${session_id}`, as('bob'))).status).toBe(404)
    expect((await ask('/sessions', as('bob'))).json).toEqual([])
    const list = await ask('/sessions?limit=1&offset=0', as('alice'))
    expect([list.headers['x-total-count'], list.json.length]).toEqual(['1', 1])
    expect((await ask(`/sessions/${session_id}`, { method: 'DELETE', ...as('alice') })).status).toBe(204)
    expect((await ask(`/sessions/${session_id}`, as('alice'))).json.status).toBe('closed')
  })

  it('belong to the user of the task that opened them', async () => {
    const { post, ask, id } = await startTaskServer(() => text('Done.'))
    const { json } = await post(
      `/agents/${id}/tasks`,
      { instruction: 'Do it.', session_key: 'k' },
      { 'x-svc-user': 'alice' },
    )
    const [session] = (await ask('/sessions', { headers: { 'x-svc-user': 'alice' } })).json
    expect(session).toMatchObject({ session_id: json.session_id, session_key: 'k', tokens: json.tokens })
  })
})
