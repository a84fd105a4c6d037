import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { refusalOf } from '../../support/model/wire-rules.ts'

const [, , first = '30', every = '850', tokens = '20'] = process.argv

/** Streaming provider that writes the time of sending into its first token. Runs in its own process. */
const server = createServer((incoming, response) => {
  text(incoming).then(body => {
    const refusal = incoming.method === 'POST' && refusalOf(JSON.parse(body))
    if (refusal) return response.writeHead(refusal.status).end(refusal.message)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const send = (choice: object) =>
      response.write(
        `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', ...choice })}\n\n`,
      )
    const say = (content: string) =>
      send({ choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }] })
    let left = Number(tokens)
    setTimeout(() => {
      // Longer than the text that the service may hold back until it knows how the text continues.
      say(`sent at ${process.hrtime.bigint()} ${'and more of it '.repeat(20)}`)
      const timer = setInterval(() => {
        if (--left > 0) return say(' token')
        clearInterval(timer)
        send({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
        send({ choices: [], usage: { prompt_tokens: 100, completion_tokens: Number(tokens) } })
        response.end('data: [DONE]\n\n')
      }, Number(every))
      response.on('close', () => clearInterval(timer))
    }, Number(first))
  })
}).listen(0, '127.0.0.1', () => process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`))
