import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { streamingFetch } from '#core/models/providers/streaming-fetch'
import { systemPorts } from '#lib/system-ports'
import { httpServer } from '../../../support/model/http.ts'
import { testHostForModels } from '../models/models-host.ts'

async function startModelServer(answer: RequestListener) {
  const model = await httpServer((incoming, response) => {
    incoming.resume().on('end', () => answer(incoming, response))
  })
  onTestFinished(model.close)
  return model
}

const ask = streamingFetch(systemPorts().fetch)
const POST = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }
const EVENTS = { 'content-type': 'text/event-stream' }

async function textOf({ body }: Response): Promise<string> {
  let text = ''
  for await (const piece of body!) text += Buffer.from(piece).toString()
  return text
}

test('an event stream is read as it is sent, and its connection is used again', async () => {
  const ports: (number | undefined)[] = []
  const { url } = await startModelServer(({ socket }, response) => {
    ports.push(socket.remotePort)
    response.writeHead(200, EVENTS).write('data: 1\n\n')
    response.end('data: 2\n\n')
  })
  expect(await textOf(await ask(url, POST))).toBe('data: 1\n\ndata: 2\n\n')
  expect(await textOf(await ask(url, POST))).toBe('data: 1\n\ndata: 2\n\n')
  expect(ports[0]).toBe(ports[1])
})

test('a request fails when its connection breaks off', async () => {
  const { url } = await startModelServer(({ socket }) => socket.destroy())
  await expect(ask(url, POST)).rejects.toThrow(/socket hang up/)
})

test('redirects are followed, and other answers are like those of fetch', async () => {
  const { url } = await startModelServer(({ url, method }, response) => {
    if (url === '/') response.writeHead(307, { location: '/there' }).end()
    else response.writeHead(429, { 'retry-after': '3', 'content-type': 'application/json' }).end(`"${method}"`)
  })
  const answer = await ask(url, POST)
  expect([answer.status, answer.ok, answer.headers.get('retry-after')]).toEqual([429, false, '3'])
  expect(await answer.json()).toBe('POST')
  const direct = await ask(`${url}/there`, POST)
  expect([direct.status, await direct.json()]).toEqual([429, 'POST'])
})

test('a redirect loop is reported as such', async () => {
  const { url } = await startModelServer(({ url }, response) => void response.writeHead(307, { location: url! }).end())
  const { failing } = await testHostForModels([], { env: { OPENAI_BASE_URL: url } })
  expect((await failing()).message).toMatch(/was lost \(redirect count exceeded\)\.$/)
})

test('an abort ends the request before its answer and in the middle of it', async () => {
  const { url } = await startModelServer((_, response) => void response.writeHead(200, EVENTS).write('data: 1\n\n'))
  const gone = new AbortController()
  const answer = await ask(url, { ...POST, signal: gone.signal })
  const reading = textOf(answer)
  gone.abort()
  await expect(reading).rejects.toThrow()
  const silent = await startModelServer(() => {})
  const early = new AbortController()
  const asking = ask(silent.url, { ...POST, signal: early.signal })
  await once(silent.server, 'request')
  early.abort()
  await expect(asking).rejects.toThrow()
})

test('an answer compressed without request is read, as a stream or whole, and a truncated one fails', async () => {
  const zipped = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync }
  const { url } = await startModelServer(({ url: path = '' }, response) => {
    const [, coding, type] = path.split('/') as [string, keyof typeof zipped, 'stream' | 'json' | 'cut']
    const headers = { ...(type === 'json' ? { 'content-type': 'application/json' } : EVENTS) }
    const body = zipped[coding]('data: 1\n\n')
    response.writeHead(200, { ...headers, 'content-encoding': coding }).end(type === 'cut' ? body.subarray(0, 8) : body)
  })
  for (const coding of Object.keys(zipped)) {
    expect(await textOf(await ask(`${url}/${coding}/stream`, POST))).toBe('data: 1\n\n')
    expect(await (await ask(`${url}/${coding}/json`, POST)).text()).toBe('data: 1\n\n')
    await expect(ask(`${url}/${coding}/cut`, POST).then(textOf)).rejects.toThrow('unexpected end of file')
  }
})

test('a server that can only stream is understood when a whole answer is requested', async () => {
  let asked = 0
  const chunk = (choice: object) => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`
  const { url } = await startModelServer((request, response) => {
    if (request.method === 'GET') return void response.writeHead(404).end()
    response.writeHead(200, EVENTS).write(chunk({ delta: { content: 'All' } }))
    response.end(asked++ === 0 ? '' : chunk({ delta: { content: ' of it.' }, finish_reason: 'stop' }))
  })
  const { call } = await testHostForModels([], { env: { OPENAI_BASE_URL: url } })
  const answer = await call()
  expect(answer).toMatchObject({ text: 'All of it.', finish_reason: 'stop', spend: { attempts: 2 } })
  expect(asked).toBe(2)
})

test('a fetch that replaces the one of the machine is used unchanged', () => {
  const own = async () => new Response('')
  expect(streamingFetch(own)).toBe(own)
})
