import { describe, expect, it } from 'vitest'
import { MalformedRequestError, type ProtocolExchange, ProtocolRoutes } from '#interfaces/rest/contract'
import { definePlugin } from '../../../kernel/index.ts'
import { until } from '../../support/index.ts'
import { startRestServer } from './rest-server.ts'

const speaks = (handle: (exchange: ProtocolExchange) => Promise<void>, open = false, forms = false) =>
  definePlugin({
    name: 'echo',
    setup(svc) {
      svc.add(ProtocolRoutes, { path: '/echo/{who}', methods: ['GET', 'POST'], open, forms, handle })
    },
  })
const echo = speaks(async ({ response, params, body, call }) => {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ params, body, tenant: call.tenant }))
})

describe('another protocol on the same listener', () => {
  it('receives the caller and the request, and writes its own answer', async () => {
    const { ask } = await startRestServer({ plugins: [echo] })
    const headers = { 'x-svc-user': 'alice' }
    const { status, json, headers: answer } = await ask('/echo/ada', { method: 'POST', body: { a: 1 }, headers })
    expect([status, json]).toEqual([200, { params: { who: 'ada' }, body: { a: 1 }, tenant: 'alice' }])
    expect(answer).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.stringMatching(/^req-/),
    })
  })

  it('receives the bytes of the body as they were sent, to check a signature', async () => {
    const plugin = speaks(async ({ response, bytes }) => void response.end(bytes ?? 'nothing'))
    const { ask, url } = await startRestServer({ plugins: [plugin] })
    const [headers, body] = [{ 'content-type': 'application/json' }, '{ "a":1,\n"b" : 2 }']
    expect(await (await fetch(`${url}/echo/ada`, { method: 'POST', headers, body })).text()).toBe(body)
    expect((await ask('/echo/ada')).text).toBe('nothing')
  })

  it('receives a form as an object of strings, if it asks for forms', async () => {
    const plugin = speaks(
      async ({ response, body, bytes }) => void response.end(JSON.stringify([body, `${bytes}`])),
      false,
      true,
    )
    const { ask, url } = await startRestServer({ plugins: [plugin] })
    const post = (body: string | URLSearchParams, type?: string) =>
      fetch(`${url}/echo/ada`, { method: 'POST', body, ...(type ? { headers: { 'content-type': type } } : {}) })
    const form = 'text=a+b%26&user=x&user=y'
    const received = [{ text: 'a b&', user: 'y' }, form]
    expect(await (await post(new URLSearchParams(form))).json()).toEqual(received)
    expect(JSON.parse((await ask('/echo/ada', { method: 'POST', body: { a: 1 } })).text)).toEqual([{ a: 1 }, '{"a":1}'])
    const other = await post('x', 'text/plain')
    expect([other.status, await other.json()]).toMatchObject([
      415,
      { detail: 'A body must be sent as Content-Type: application/json or application/x-www-form-urlencoded.' },
    ])
    const strict = await startRestServer({ plugins: [echo] })
    const refused = await fetch(`${strict.url}/echo/ada`, { method: 'POST', body: new URLSearchParams(form) })
    expect(refused.status).toBe(415)
  })

  it('requires the key unless it is open, and always follows the Host and Origin rules', async () => {
    const keyed = await startRestServer({ plugins: [echo], env: { SVC_API_KEY: 'a key of this server' } })
    expect((await keyed.ask('/echo/ada')).status).toBe(401)
    const open = await startRestServer({ plugins: [speaks(async ({ response }) => void response.end('card'), true)] })
    expect((await open.ask('/echo/ada')).text).toBe('card')
    expect((await open.ask('/echo/ada', { headers: { host: 'evil.example' } })).status).toBe(403)
    const origin = 'https://evil.example'
    expect((await open.ask('/echo/ada', { method: 'POST', body: {}, headers: { origin } })).status).toBe(403)
    expect((await open.ask('/echo/ada', { method: 'DELETE' })).status).toBe(405)
  })

  it('answers an error before its response begins with a problem, and breaks off the response on a later one', async () => {
    const { ask, log } = await startRestServer({
      plugins: [
        speaks(async ({ request, response }) => {
          if (request.method === 'POST') throw new MalformedRequestError({ problem: 'That is no message.' })
          response.write('half an ans')
          throw new Error('it broke')
        }),
      ],
    })
    expect((await ask('/echo/ada', { method: 'POST', body: {} })).json).toMatchObject({ detail: 'That is no message.' })
    await expect(ask('/echo/ada')).rejects.toThrow()
    expect(log.join('')).toContain('response aborted after its headers were sent')
  })

  it('counts its streams with all others, and ends them when the server stops', async () => {
    const stopped: string[] = []
    const { ask, url, listening } = await startRestServer({
      yaml: 'server: { max_streams: 1 }',
      plugins: [
        speaks(async ({ response, params, stream }) => {
          stream(() => {
            stopped.push(params.who!)
            response.end()
          })
          response.flushHeaders()
        }),
      ],
    })
    const first = await fetch(`${url}/echo/ada`)
    expect((await ask('/echo/bob')).json).toMatchObject({ status: 503, code: 'too_many_streams' })
    await listening.close()
    await until(() => stopped.length > 0)
    expect([stopped, await first.text()]).toEqual([['ada'], ''])
  })
})
