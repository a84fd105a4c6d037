import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ModelRequestBody, refusalOf } from '../../support/model/wire-rules.ts'

/** With the argument `endless`, each answer is the next note of a conversation that never ends. */
const isEndless = process.argv[2] === 'endless'
/** With the argument `words` each answer is text, without tool calls. */
const isText = process.argv[2] === 'words'
/** With the argument `files` the agent writes a file instead of a note. */
const note = (n: number): readonly [string, object] =>
  process.argv[2] === 'files'
    ? ['file_write', { path: `note-${n}.md`, content: 'What is known of it. '.repeat(20) }]
    : ['notepad_write', { text: 'a note' }]

/** Returns the answer to a request: a goal if no tools are offered, then a note, then the end. */
function answerTo({ messages, tools = [] }: ModelRequestBody, n: number): { delta: object; finish_reason: string } {
  if (isText) return { delta: { content: 'Done.' }, finish_reason: 'stop' }
  if (tools.length === 0) {
    const content = JSON.stringify({ goal: `Note ${n} ${n * 3} ${n * 7} down`, reasoning: 'it is due' })
    return { delta: { role: 'assistant', content }, finish_reason: 'stop' }
  }
  const [name, args] = isEndless
    ? ['note', { n }]
    : messages.at(-1)?.role === 'tool'
      ? ['finish_goal', { summary: 'noted' }]
      : note(n)
  const call = { index: 0, id: `call_${n}`, type: 'function', function: { name, arguments: JSON.stringify(args) } }
  return { delta: { role: 'assistant', content: null, tool_calls: [call] }, finish_reason: 'tool_calls' }
}

/** Text before each tool call: about a hundred tokens, each in its own chunk, as OpenAI's servers send them. */
const THOUGHT = 'I look at what is known so far, and at what is left to do before this can be called done. '
  .repeat(5)
  .match(/\S+\s*/g)!

const CHARS_PER_TOKEN = 4

let requests = 0

/**
 * Provider for agents that take notes, in the format of OpenAI's streams; it answers at once. Runs in its own process.
 */
const server = createServer((incoming, response) => {
  let text = ''
  incoming.setEncoding('utf8')
  incoming.on('data', (piece: string) => {
    text += piece
  })
  incoming.on('end', () => {
    // It provides no information about its models.
    if (incoming.method !== 'POST') return response.writeHead(404).end()
    const body = JSON.parse(text) as ModelRequestBody
    const refusal = refusalOf(body)
    if (refusal) return response.writeHead(refusal.status).end(refusal.message)
    const { delta, finish_reason } = answerTo(body, ++requests)
    const prompt_tokens = Math.ceil(text.length / CHARS_PER_TOKEN)
    const said =
      finish_reason === 'stop' && !isText
        ? []
        : THOUGHT.map(content => ({ choices: [{ index: 0, delta: { content }, finish_reason: null }] }))
    const chunks = [
      ...said,
      { choices: [{ index: 0, delta, finish_reason: null }] },
      { choices: [{ index: 0, delta: {}, finish_reason }] },
      { choices: [], usage: { prompt_tokens, completion_tokens: 10, total_tokens: prompt_tokens + 10 } },
    ].map(
      chunk =>
        `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'notes', ...chunk })}\n\n`,
    )
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const next = () => {
      const chunk = chunks.shift()
      if (chunk === undefined) return response.end('data: [DONE]\n\n')
      response.write(chunk)
      setImmediate(next)
    }
    next()
  })
}).listen(0, '127.0.0.1', () => process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`))
/** Answers each message with the number of requests so far. */
process.on('message', () => process.send?.(requests))
process.on('disconnect', () => process.exit())
