import { describe, expect, it } from 'vitest'

import { fitRequest } from '#core/models/context/fit'
import { overflowIn } from '#core/models/context/overflow'
import { readSummary } from '#core/models/context/summary'
import { messagesTokens } from '#core/models/context/tokens'
import type { Message, Spend } from '#core/models/contract'
import { refuse, text } from '../../../support/index.ts'
import { type Dialect, tokensIn } from '../../../support/model/wire-rules.ts'
import { testHostForModels } from './models-host.ts'

const SETTINGS = { context_limit: 256_000, context_full: 0.75, context_target: 0.45 }

/** Returns a pursuit of `steps` steps, each of which reads a file of `chars` characters. */
function pursuit(steps: number, chars = 4_000): Message[] {
  const said: Message[] = [
    { role: 'system', content: 'You are worker.' },
    { role: 'user', content: 'Goal: read all files' },
  ]
  for (let n = 1; n <= steps; n++) {
    const call = { id: `call_${n}`, name: 'file_read', arguments: { path: `file-${n}.txt` } }
    said.push({ role: 'assistant', content: `Reading ${n}.`, tool_calls: [call] })
    said.push({ role: 'tool', tool_call_id: call.id, name: call.name, content: `${n}:`.padEnd(chars, ' lorem ipsum') })
    if (n % 10 === 0) said.push({ role: 'user', content: `Message from the operator: keep to rule ${n}` })
  }
  return said
}

function fitMessages(messages: readonly Message[], window: number) {
  return fitRequest({ messages, tools: [], max_tokens: 1_000 }, { window, max_output_tokens: null, ratio: 1 }, SETTINGS)
}

describe('fitting a conversation into the window', () => {
  it('leaves a conversation that fits unchanged', () => {
    const said = pursuit(5)
    const { messages, cleared, digested, cut } = fitMessages(said, 128_000)
    expect(messages).toEqual(said)
    expect({ cleared, digested, cut }).toEqual({ cleared: 0, digested: 0, cut: 0 })
  })

  it('clears old results first: each becomes one line that says how to get it again', () => {
    const { messages, cleared, digested } = fitMessages(pursuit(30), 24_000)
    expect(cleared).toBeGreaterThan(0)
    expect(digested).toBe(0)
    expect(messages[3]!.content).toBe(
      '[Old result of file_read {"path":"file-1.txt"}: 4000 characters, removed to save space. What the call did stands; call it again only to read something.]',
    )
    expect(messages.at(-2)!.content).toHaveLength(4_000)
  })

  it('says of a cleared result of a failed call that it failed, with the beginning of the error', () => {
    const failed = pursuit(30).map(message =>
      message.role === 'tool'
        ? { ...message, content: `Error: no such file. ${'x'.repeat(4_000)}`, is_error: true }
        : message,
    )
    const { messages } = fitMessages(failed, 24_000)
    expect(messages[3]!.content).toMatch(
      /^\[Old result of file_read .*, which failed: .*It began: Error: no such file\. x+…\]$/,
    )
  })

  it('keeps words of the operator and what is needed for the work, and clears nothing that would become longer', () => {
    const said = pursuit(30)
    const order = `Error: not run: the operator denied it (${'keep the name, '.repeat(20)})`
    said[3] = { ...said[3]!, content: order, is_error: true, from_operator: true }
    said[5] = { ...said[5]!, is_kept: true }
    const path = `a-${'long-'.repeat(40)}name.txt`
    const answer = said[6]!
    said[6] = { ...answer, tool_calls: answer.tool_calls!.map(call => ({ ...call, arguments: { path, more: path } })) }
    said[7] = { ...said[7]!, content: 'x'.repeat(210) }
    const { messages, cleared } = fitMessages(said, 24_000)
    expect(cleared).toBeGreaterThan(3)
    for (const n of [3, 5, 7]) expect(messages[n]!.content).toBe(said[n]!.content)
    expect(messages[9]!.content).toMatch(/^\[Old result of/)
  })

  it('says of a cleared result where the whole output is', () => {
    const file = '/home/ann/.output/1795813925978-4f12.txt'
    const said = pursuit(30).map(message =>
      message.role === 'tool'
        ? {
            ...message,
            content: `${message.content}\n[exit code 0]\n[The full output is in ${file}; read it with file_read.]`,
          }
        : message,
    )
    expect(fitMessages(said, 24_000).messages[3]!.content).toMatch(
      new RegExp(
        `removed to save space\\. It ended: …[^[]*\\[exit code 0\\] The whole output is in ${file}; read it with file_read\\.\\]$`,
      ),
    )
  })

  it('keeps the end of the output of a program, which says how it ended', () => {
    const output = `${'order: ok\n'.repeat(400)}0 bad orders\n[proc-1 ended with exit code 0]`
    const said = pursuit(400).map(message => (message.role === 'tool' ? { ...message, content: output } : message))
    const { messages } = fitMessages(said, 64_000)
    const ending = 'order: ok 0 bad orders [proc-1 ended with exit code 0]'
    expect(messages[2]!.content).toContain(ending)
    expect(messages.find(({ content }) => content.startsWith('[Old result'))!.content).toContain(
      `${ending} What the call did stands`,
    )
  })

  it('names the files of calls that are only counted, the newest of each tool', () => {
    const said = pursuit(400)
    const written = said[2]!.tool_calls!.map(call => ({ ...call, name: 'file_write', arguments: { path: 'sum.md' } }))
    said[2] = { ...said[2]!, tool_calls: written }
    const record = fitMessages(said, 24_000).messages.find(({ content }) => content.startsWith('Record of'))
    expect(record?.content).toMatch(
      /\(\d+ older steps were left out: .*file_write × 1 \(sum\.md\), file_read × \d+ \(file-\d+\.txt, file-\d+\.txt, file-\d+\.txt, …\)/,
    )
  })

  it('does not take reports and notices for words of the operator', () => {
    const report = 'Notice: Background process proc-1 has ended with exit code 0.'
    const said = pursuit(400)
    const added: Message[] = [
      { role: 'user', content: report, is_report: true },
      { role: 'user', content: 'Your plan, as you wrote it down', is_notice: true },
    ]
    said.splice(4, 0, ...added)
    const due = { model: null, keeps: 2, limit: 1_000, orders_limit: 1_000, source_limit: 9_000 }
    const sections = '## Goal\nRead.\n## Done\nAll.\n## Next\nnone'
    const spend = { model: 'openai:scripted' } as Spend
    const { orders = [] } = readSummary({ text: sections, spend }, said, due)!.message.summary!
    expect(orders).toContain('Message from the operator: keep to rule 10')
    expect(orders.join()).not.toMatch(/Background process|Your plan/)
    const { messages } = fitMessages(said.slice(0, 100), 8_000)
    expect(messages[2]!.content).not.toContain('Your plan')
  })

  it('keeps words of the operator whole in a digest, and names the calls to make again', () => {
    const said = pursuit(400)
    const order = `The operator answered: ${'first this, then that, '.repeat(12)}done`
    said[3] = { ...said[3]!, name: 'ask_operator', content: order, from_operator: true }
    said[5] = { ...said[5]!, is_kept: true }
    const { messages } = fitMessages(said, 64_000)
    expect(messages[2]!.content).toContain(`- to you: file_read {"path":"file-1.txt"} → ${order}\n`)
    // Words and calls stand in the order of the conversation.
    expect(messages[2]!.content).toMatch(
      /\n- file_read {"path":"file-250\.txt"} → .*\n- to you: .*keep to rule 250\n- you said: Reading 251\./,
    )
    expect(messages[2]!.content).toContain(
      'make these calls again when you need them:\n- file_read {"path":"file-2.txt"}\n',
    )
  })

  it('keeps what the agent said in a digest longer than how results began', () => {
    const digest = fitMessages(pursuit(60), 8_000).messages[2]!.content
    const oldest = (pattern: RegExp) => Number(pattern.exec(digest)?.[1])
    expect(oldest(/- you said: Reading (\d+)\./)).toBeLessThan(oldest(/- file_read {"path":"file-(\d+)\.txt"}/) - 10)
  })

  it('has equal steps of a model that repeats itself once in a digest', () => {
    const repeated = (message: Message): Message =>
      message.tool_calls
        ? {
            ...message,
            content: 'I read on.',
            tool_calls: [{ ...message.tool_calls[0]!, arguments: { path: 'a.txt' } }],
          }
        : message.role === 'tool'
          ? { ...message, content: 'lorem ipsum '.repeat(300) }
          : message
    const digest = fitMessages(pursuit(200).map(repeated), 16_000).messages[2]!.content
    expect(digest.match(/\n- you said: I read on\. \(\d+ times\)/g)).toHaveLength(1)
    expect(digest.match(/\n- file_read {"path":"a\.txt"} → lorem .* \(\d+ times\)/g)).toHaveLength(1)
    expect(digest).not.toContain('older steps were left out')
  })

  it('names the calls to make again beside a summary', () => {
    const said = pursuit(5)
    said[3] = { ...said[3]!, is_kept: true }
    const summary = { keeps: 2, model: 'openai:scribe', orders: [], older_orders: 0 }
    said.push({ role: 'user', content: 'Historical goal:\n  Read all files', summary })
    expect(fitMessages(said, 128_000).messages[2]!.content).toMatch(
      /make these calls again when you need them:\n- file_read \{"path":"file-1\.txt"\}$/,
    )
  })

  it('clears results at once beside a summary, not at a later request, so that the beginning changes once', () => {
    const said = pursuit(30)
    const summary = { keeps: 41, model: 'openai:scribe', orders: [], older_orders: 0 }
    const summarized = [...said, { role: 'user' as const, content: 'Historical goal:\n  Read all files', summary }]
    const after = fitMessages(summarized, 32_000)
    expect(after.cleared).toBeGreaterThan(0)
    const later = fitMessages([...summarized, ...pursuit(6).slice(2)], 32_000)
    expect(later.messages.slice(0, after.messages.length)).toEqual(after.messages)
  })

  it('gives the space that short new results leave to the long ones, and says that their middle was not seen', () => {
    const said = pursuit(1).slice(0, 2)
    const sizes = [100, 100, 100, 14_000, 100, 15_000, 100, 15_500]
    const calls = sizes.map((_, n) => ({ id: `c${n}`, name: 'file_read', arguments: { path: `${n}.txt` } }))
    said.push({ role: 'assistant', content: '', tool_calls: calls })
    for (const [n, size] of sizes.entries())
      said.push({
        role: 'tool',
        tool_call_id: `c${n}`,
        name: 'file_read',
        content: `${n}`.padEnd(size, ' lorem ipsum'),
      })
    const { messages, input, cut } = fitMessages(said, 10_000)
    expect(cut).toBe(3)
    expect(messagesTokens(messages)).toBeLessThanOrEqual(input * 0.75)
    expect(messagesTokens(messages)).toBeGreaterThan(input * 0.65)
    expect(messages[6]!.content).toMatch(
      /of 14000 characters .*; you have not seen this part, .*: call file_read again for it …\]/,
    )
  })

  it('replaces the oldest turns with a digest, and keeps the goal, all user messages and the newest turn', () => {
    const said = pursuit(400)
    const { messages, digested } = fitMessages(said, 16_000)
    const all = messages.map(({ content }) => content).join('\n')
    expect(digested).toBeGreaterThan(0)
    expect(messages[1]!.content).toBe('Goal: read all files')
    for (let n = 10; n <= 400; n += 10) expect(all).toContain(`keep to rule ${n}`)
    expect(messages.at(-2)!.content).toHaveLength(4_000)
    expect(messagesTokens(messages)).toBeLessThan(16_000 - 1_000)
  })

  it.each([2_000, 8_000, 32_000, 128_000])('keeps every step of a pursuit within a window of %i tokens', window => {
    const said = pursuit(150, 20_000)
    for (let n = 4; n <= said.length; n += 2) {
      const { messages, max_tokens } = fitMessages(said.slice(0, n), window)
      expect(messagesTokens(messages) + max_tokens, `at message ${n}`).toBeLessThanOrEqual(window)
      expect(messages[1]!.content).toBe('Goal: read all files')
    }
  })

  it("keeps the beginning of a request from step to step, so that the provider's prompt cache is used", () => {
    const said = pursuit(200)
    let changes = 0
    let before = fitMessages(said.slice(0, 4), 32_000).messages
    for (let n = 6; n <= said.length; n += 2) {
      const { messages } = fitMessages(said.slice(0, n), 32_000)
      const isSame = before.every((each, at) => each.content === messages[at]!.content)
      if (!isSame) changes++
      before = messages
    }
    // 200 results of 1,000 tokens, of which about 9 are cleared each time.
    expect(changes).toBeLessThan(30)
  })

  it('cuts a single message that is too long, and says what is missing', () => {
    const said = pursuit(2)
    said[3] = { ...said[3]!, content: 'y'.repeat(2_000_000) }
    const { messages, cut } = fitMessages(said, 32_000)
    expect(cut).toBe(1)
    expect(messages[3]!.content).toMatch(/of 2000000 characters left out to fit the model's context/)
    expect(messagesTokens(messages)).toBeLessThan(31_000)
  })

  it.each([8_000, 32_000])('gives the same result step by step and at once, within a window of %i tokens', window => {
    const said = pursuit(60, 20_000)
    for (let n = 4; n <= said.length; n++) {
      const begun = said.slice(0, n)
      // Some requests fail: their last message has no answer when they are sent again with more.
      if (n % 7 > 0)
        expect(fitMessages(begun, window), `at message ${n}`).toEqual(fitMessages(structuredClone(begun), window))
    }
  })

  it('takes under 150 ms for a megabyte of new messages', () => {
    const conversations = Array.from({ length: 20 }, () => pursuit(250))
    const began = process.cpuUsage()
    for (const said of conversations) fitMessages(said, 32_000)
    const { user, system } = process.cpuUsage(began)
    expect((user + system) / 20_000).toBeLessThan(150)
  })
})

describe('a refusal because of the size of a request', () => {
  it.each<[string, number, string, number | null]>([
    ['Anthropic', 400, 'prompt is too long: 210000 tokens > 200000 maximum', 200_000],
    ['Anthropic, in bytes', 413, 'request_too_large Request exceeds the maximum size', null],
    [
      'Anthropic, with the answer',
      400,
      'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000',
      200_000,
    ],
    ['Amazon Bedrock', 400, 'Input is too long for requested model.', null],
    ['OpenAI', 400, 'Your input exceeds the context window of this model.', null],
    ['OpenAI, by code', 400, 'context_length_exceeded', null],
    [
      'Gemini',
      400,
      'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
      1_048_576,
    ],
    ['xAI', 400, "This model's maximum prompt length is 131072 but the request contains 140000 tokens.", 131_072],
    ['Groq', 400, 'Please reduce the length of the messages or completion.', null],
    [
      'OpenRouter',
      400,
      "This endpoint's maximum context length is 32768 tokens. However, you requested 40000.",
      32_768,
    ],
    ['vLLM', 400, "You passed 9000 input tokens, and the model's context length is only 8192 tokens.", 8_192],
    ['llama.cpp', 400, 'the request exceeds the available context size (4096 tokens), try increasing it', 4_096],
    ['llama.cpp, by type', 400, 'exceed_context_size_error', null],
    ['LM Studio', 400, 'The number of tokens to keep is greater than the context length of 4096', 4_096],
    [
      'LM Studio, with both numbers',
      400,
      'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 10247>= n_ctx: 4096). Try to load the model with a larger context length',
      4_096,
    ],
    ['LM Studio, since 0.4', 400, 'Cannot truncate prompt with n_keep (4244) >= n_ctx (4096)', 4_096],
    [
      'LM Studio, until 0.3',
      400,
      'Trying to keep the first 4263 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input',
      4_096,
    ],
    ['LM Studio with MLX', 400, 'Context size has been exceeded.', null],
    [
      'Ollama',
      400,
      'the prompt is longer than the context length currently available to the model; shorten the prompt, adjust the context length in settings, or use a model with a longer context length',
      null,
    ],
    ['Ollama, which dropped the oldest messages', 500, 'No user query found in messages.', null],
    ['GitHub Copilot', 400, 'prompt token count of 130000 exceeds the limit of 128000', 128_000],
    ['MiniMax', 400, 'invalid params, context window exceeds limit', null],
    ['Kimi', 400, 'Your request exceeded model token limit: 262144', 262_144],
    ['Mistral', 400, 'Prompt contains 40000 tokens, too large for model with 32768 maximum context length', 32_768],
    ['z.ai', 400, 'model_context_window_exceeded', null],
    ['any 413', 413, 'Payload Too Large', null],
  ])('of %s is recognised by its words', (_, status, message, window) => {
    expect(overflowIn(status, message)).toEqual({ window })
  })

  it.each([
    [429, 'maximum context length is 8192 tokens'],
    [400, 'Invalid value for temperature'],
    [400, 'max_tokens is too large'],
    [500, 'The server had an error'],
  ])('is not seen in other errors: %i %s', (status, message) => expect(overflowIn(status, message)).toBeUndefined())

  it.each<[Dialect, string]>([
    ['openai', 'scripted-1'],
    ['mistral', 'mistral-large'],
    ['gemini', 'scripted-1'],
    ['deepseek', 'scripted-1'],
    ['vllm', 'scripted-1'],
    ['llamacpp', 'scripted-1'],
  ])('of %s teaches the window: the request is shortened, and the same call is answered', async (dialect, model) => {
    const { call, server } = await testHostForModels(undefined, {}, { dialect, window: 20_000 })
    const asked = { model: `openai:${model}`, max_tokens: 1_000 }
    expect((await call({ ...asked, messages: pursuit(120) })).text).toBe('All done.')
    expect(server.refusals).toHaveLength(1)
    // The learned window is kept: the next request fits at once.
    await call({ ...asked, messages: pursuit(125) })
    expect(server.refusals).toHaveLength(1)
  })

  it('that names no window leads to smaller requests until one is answered', async () => {
    const { call, server } = await testHostForModels(undefined, {}, { dialect: 'ollama', window: 20_000 })
    expect((await call({ messages: pursuit(120), max_tokens: 1_000 })).text).toBe('All done.')
    expect(server.refusals.length).toBeLessThanOrEqual(2)
  })

  it('that no shortening fixes is reported as such after three ever smaller requests', async () => {
    const { failing, server } = await testHostForModels(() => refuse(400, 'maximum context length is 20000 tokens'))
    const error = await failing({ messages: pursuit(120) })
    expect(error).toMatchObject({ kind: 'context_overflow', transient: false, billed: false })
    const sizes = server.requests.map(({ body }) => tokensIn(body))
    expect(sizes).toHaveLength(3)
    expect(sizes.toSorted((a, b) => b - a)).toEqual(sizes)
    expect(new Set(sizes).size).toBe(3)
  })
})

describe('the window of a model', () => {
  it('is the one in models.yaml', async () => {
    const { call, server } = await testHostForModels(() => text('Done.'), {
      files: { 'models.yaml': 'models: { "openai:scripted-1": { context_window: 8192 } }\n' },
    })
    await call({ messages: pursuit(60), max_tokens: 4_096 })
    const { body } = server.requests[0]!
    expect(tokensIn(body) + body.max_tokens!).toBeLessThanOrEqual(8_192)
    // The answer takes at most a quarter of such a small window.
    expect(body.max_tokens).toBe(2_048)
  })

  it.each([
    ['vLLM', '/v1/models', { data: [{ id: 'scripted-1', max_model_len: 6_000 }] }],
    ['llama.cpp', '/props', { default_generation_settings: { n_ctx: 6_000 } }],
  ])('is the one that the server reports: %s', async (_, path, page) => {
    const { call, server } = await testHostForModels(() => text('Done.'), {}, { pages: { [path]: page } })
    await call({ messages: pursuit(60), max_tokens: 1_000 })
    const { body } = server.requests[0]!
    expect(tokensIn(body) + body.max_tokens!).toBeLessThanOrEqual(6_000)
  })

  it('is filled by the count of the provider, whose usage corrects the estimate', async () => {
    // The provider counts two characters as one token, which is twice the estimate.
    const usage = (request: { body: Parameters<typeof tokensIn>[0] }) => ({
      prompt_tokens: tokensIn(request.body) * 2,
      completion_tokens: 5,
    })
    const { call, server } = await testHostForModels(request => text('Done.', { usage: usage(request) }), {
      files: { 'models.yaml': 'models: { "openai:scripted-1": { context_window: 16000 } }\n' },
    })
    await call({ messages: pursuit(10), max_tokens: 1_000 })
    await call({ messages: pursuit(60), max_tokens: 1_000 })
    expect(tokensIn(server.requests[1]!.body) * 2 + 1_000).toBeLessThanOrEqual(16_000)
  })
})
