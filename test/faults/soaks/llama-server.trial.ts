import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { type Message, Models } from '#core/models/contract'
import models from '#core/models/index'
import { PURPOSE } from '../../spec/core/models/models-host.ts'
import { testHost } from '../../support/index.ts'
import { until } from '../../support/until.ts'

/** Program (`llama-server` on the PATH by default), and the file of any small chat model. */
const { LLAMA_SERVER = 'llama-server', LLAMA_MODEL } = process.env
const WINDOW = 4_096
const MAX_TOKENS = 48
const STEPS = 60

const missing = whatIsMissing()
if (missing) console.warn(`llama-server is left out: ${missing}`)

function whatIsMissing(): string | undefined {
  if (spawnSync(LLAMA_SERVER, ['--version']).error) {
    return `there is no program ${LLAMA_SERVER}; install llama.cpp, or set LLAMA_SERVER to its file`
  }
  if (!LLAMA_MODEL) return 'LLAMA_MODEL is not set; set it to the .gguf file of a model'
  return existsSync(LLAMA_MODEL) ? undefined : `LLAMA_MODEL names ${LLAMA_MODEL}, and there is no such file`
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  return port
}

async function llamaServer() {
  const port = await freePort()
  const words = ['--model', LLAMA_MODEL!, '--ctx-size', String(WINDOW), '--parallel', '1', '--jinja']
  const server = spawn(LLAMA_SERVER, [...words, '--host', '127.0.0.1', '--port', String(port)], { stdio: 'ignore' })
  const url = `http://127.0.0.1:${port}`
  await until(() =>
    fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    ),
  )
  return { url, [Symbol.dispose]: () => void server.kill('SIGKILL') }
}

/** Returns the messages of a step: a call, its result, and now and then a message of the operator. */
function step(n: number): Message[] {
  const call = { id: `call_${n}`, name: 'file_read', arguments: { path: `f${n}.txt` } }
  const content = `${n}: ${'Nothing of note stands here, and it goes on. '.repeat(40)}`
  return [
    { role: 'assistant', content: `Reading ${n}.`, tool_calls: [call] },
    { role: 'tool', tool_call_id: call.id, name: call.name, content },
    ...(n % 10 === 0 ? [{ role: 'user' as const, content: `Message from the operator: keep rule ${n}.` }] : []),
  ]
}

describe.skipIf(missing)('a real llama-server', () => {
  it('refuses no request of a conversation that has long outgrown its window', { timeout: 1_800_000 }, async () => {
    using server = await llamaServer()
    await using home = await testHost({
      builtins: [models],
      clock: 'system',
      roles: ['cli'],
      config: { model: { idle_timeout: 600, total_timeout: 1_200 } },
      env: { LLAMACPP_BASE_URL: `${server.url}/v1` },
    })
    const refusals: unknown[] = []
    let compactions = 0
    home.kernel.hooks.on('context_refused', refusal => void refusals.push(refusal))
    home.kernel.hooks.on('context_compacted', () => void compactions++)
    const parameters = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }
    const messages: Message[] = [
      { role: 'system', content: 'You are worker. You read files, one after another.' },
      { role: 'user', content: 'Goal: read all files' },
    ]
    for (let n = 1; n <= STEPS; n++) {
      const { spend } = await home.kernel.use(Models).call({
        model: 'llamacpp',
        messages: [...messages],
        temperature: 0,
        max_tokens: MAX_TOKENS,
        purpose: PURPOSE,
        tools: [{ name: 'file_read', description: 'Reads a file.', parameters }],
        signal: new AbortController().signal,
      })
      expect(spend.input_tokens + MAX_TOKENS, `step ${n}`).toBeLessThanOrEqual(WINDOW)
      messages.push(...step(n))
    }
    expect(refusals).toEqual([])
    expect(compactions).toBeGreaterThan(2)
  })
})
