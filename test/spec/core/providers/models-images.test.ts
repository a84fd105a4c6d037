import { expect, it, onTestFinished } from 'vitest'
import { type ImageRef, Images } from '#core/images/contract'
import images from '#core/images/index'
import { boundOf } from '#core/models/call/spend'
import { fitRequest } from '#core/models/context/fit'
import { imageTokensBy } from '#core/models/context/tokens'
import { selectImages } from '#core/models/context/vision'
import type { Message } from '#core/models/contract'
import models from '#core/models/index'
import store from '#platform/store/index'
import { type ModelServerOptions, refuse, text } from '../../../support/index.ts'
import { messagesServer } from '../../../support/model/messages-server.ts'
import { JPEG, PNG } from '../agents/pictures.ts'
import { testHostForModels } from '../models/models-host.ts'

const TOOLS = [{ name: 'shoot', description: 'Takes a picture.', parameters: { type: 'object', properties: {} } }]
const URL_OF_PNG = `data:image/png;base64,${PNG}`

/** Returns a conversation with an image in its second tool result and one in the message after it. */
const withPictures = (shot: ImageRef, sketch: ImageRef): Message[] => [
  { role: 'system', content: 'You look at things.' },
  { role: 'user', content: 'Goal: look' },
  {
    role: 'assistant',
    content: '',
    tool_calls: [
      { id: 'call_1', name: 'shoot', arguments: {} },
      { id: 'call_2', name: 'shoot', arguments: { of: 'door' } },
    ],
  },
  { role: 'tool', tool_call_id: 'call_1', name: 'shoot', content: 'Nothing was there.' },
  { role: 'tool', tool_call_id: 'call_2', name: 'shoot', content: 'The door.', images: [shot] },
  { role: 'user', content: 'Like this one:', images: [sketch] },
]

async function looking(
  model: string,
  serving: ModelServerOptions,
  more: { yaml?: string; env?: Record<string, string> } = {},
) {
  const files = { 'models.yaml': more.yaml ?? '{}' }
  const home = await testHostForModels(
    undefined,
    { builtins: [store, images, models], files, env: more.env ?? {} },
    serving,
  )
  const kept = home.host.kernel.use(Images)
  const shot = await kept.keep({ data: PNG, name: 'door.png' })
  const sketch = await kept.keep({ data: JPEG })
  const messages = withPictures(shot, sketch)
  return { ...home, shot, sketch, look: () => home.call({ model, messages, tools: TOOLS }) }
}

it.each([
  ['openai', 'openai:gpt-5.4'],
  ['gemini', 'openai:gemini-3-pro'],
  ['mistral', 'openai:mistral-medium'],
  ['vllm', 'openai:Qwen/Qwen3-VL-8B'],
  ['llamacpp', 'openai:gemma-3'],
  ['ollama', 'openai:llama4'],
] as const)('images are sent by the rules of %s, after all results', async (dialect, model) => {
  const { look, server } = await looking(model, { dialect })
  await look()
  expect(server.refusals).toEqual([])
  const { messages } = server.requests[0]!.body
  const shown = messages.filter(({ images = [] }) => images.length > 0)
  expect(shown).toHaveLength(1)
  expect(shown[0]).toMatchObject({ role: 'user', images: [URL_OF_PNG, `data:image/jpeg;base64,${JPEG}`] })
  expect(shown[0]!.content).toBe('Images of the results above, in this order:\n- "door.png" of shoot\n\nLike this one:')
  expect(messages.at(-1)).toBe(shown[0])
})

it('images are part of the tool results for Anthropic', async () => {
  const server = await messagesServer()
  onTestFinished(() => server.close())
  const env = { ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: server.url }
  const { look } = await looking('anthropic:claude-sonnet-4-6', {}, { env })
  expect((await look()).text).toBe('All done.')
  const [, result, after] = server.requests[0]!.body.messages.at(-1)!.content.slice(-3)
  const content = server.requests[0]!.body.messages.at(-1)!.content
  const source = (media_type: string, data: string) => ({ type: 'base64', media_type, data })
  expect(content[1]).toMatchObject({
    type: 'tool_result',
    tool_use_id: 'call_2',
    content: [
      { type: 'text', text: 'The door.' },
      { type: 'image', source: source('image/png', PNG) },
    ],
  })
  expect(result).toMatchObject({ type: 'image', source: source('image/jpeg', JPEG) })
  expect(after).toMatchObject({ type: 'text', text: 'Like this one:' })
})

const UNSEEN = /Image "door.png" \(image\/png, 16 × 8 pixels\): this model cannot see images\./

it('a model with vision: false in models.yaml reads a description of each image instead', async () => {
  const { look, server } = await looking(
    'openai:scripted-1',
    {},
    { yaml: 'models: { "openai:scripted-1": { vision: false } }\n' },
  )
  await look()
  expect(server.requests).toHaveLength(1)
  expect(server.requests[0]!.prompt).toMatch(UNSEEN)
})

it.each(['openai', 'mistral', 'deepseek', 'gemini', 'vllm', 'llamacpp', 'ollama'] as const)(
  'a model whose server refuses images like %s is asked without them from then on',
  async dialect => {
    const { look, server } = await looking(`openai:${dialect}-1`, { dialect, vision: false })
    await look()
    await look()
    expect(server.refusals).toHaveLength(1)
    expect(server.requests).toHaveLength(3)
    expect(server.requests[1]!.prompt).toMatch(UNSEEN)
    expect(server.requests[2]!.prompt).toMatch(UNSEEN)
  },
)

it('a model of llama.cpp gets no images when its server reports that it cannot see', async () => {
  const pages = {
    '/props': { default_generation_settings: { n_ctx: 32_000 }, modalities: { vision: false, audio: false } },
  }
  const home = await looking('llamacpp:scripted-1', { pages })
  const env = { LLAMACPP_BASE_URL: home.server.url }
  const { look, server } = await looking('llamacpp:scripted-1', { pages }, { env })
  await look()
  expect(home.server.requests).toHaveLength(1)
  expect(home.server.requests[0]!.prompt).toMatch(UNSEEN)
  expect(server.requests).toHaveLength(0)
})

it('an image that the server cannot read leaves that one call without images', async () => {
  const { look, server } = await looking('openai:scripted-1', {})
  server.enqueue(refuse(400, 'Could not process image'), text('I saw none.'), text('I see it.'))
  expect((await look()).text).toBe('I saw none.')
  expect(server.requests[1]!.prompt).toMatch(/"door.png".*not shown to the model, because its server refused it/)
  expect((await look()).text).toBe('I see it.')
  expect(server.requests[2]!.body.messages.at(-1)!.images).toHaveLength(2)
})

it('an image that is no longer kept is named in the text', async () => {
  const { call, server, shot } = await looking('openai:scripted-1', {})
  await call({ messages: [{ role: 'user', content: 'Look', images: [{ ...shot, sha256: 'f'.repeat(64) }] }] })
  expect(server.requests[0]!.prompt).toMatch(/Look\n\[Image "door.png" .*: no longer kept\.\]/)
})

const imageOf = (width: number, height: number): ImageRef => {
  return { sha256: 'a'.repeat(64), media_type: 'image/png', width, height, bytes: 1_000, name: 'page.png' }
}

it.each([
  ['anthropic:claude-sonnet-4-6', 1_000, 1_000, 1_334],
  ['openai:gpt-4o', 1_024, 1_024, 765],
  ['openai:gpt-5.4', 1_024, 1_024, 2_520],
  ['openai:gemini-3-pro', 1_536, 768, 516],
  ['openai:gemini-3-pro', 300, 300, 258],
  ['openai:Qwen/Qwen3-VL-8B', 560, 280, 200],
])('%s counts an image of %i × %i pixels as %i tokens', (id, width, height, tokens) => {
  const model = id.includes('gpt') || id.startsWith('anthropic') ? id : id.replace('openai:', 'office:')
  expect(imageTokensBy(model)(imageOf(width, height))).toBe(tokens)
})

it('images of old results are removed first, with how to get them again; later images and the text stay', () => {
  const turn = (n: number): Message[] => [
    { role: 'assistant', content: '', tool_calls: [{ id: `c${n}`, name: 'shoot', arguments: { of: `page ${n}` } }] },
    { role: 'tool', tool_call_id: `c${n}`, name: 'shoot', content: `Page ${n}.`, images: [imageOf(1_500, 1_000)] },
  ]
  const said: Message[] = [
    { role: 'user', content: 'Goal: look', images: [imageOf(500, 500)] },
    ...[1, 2, 3, 4].flatMap(turn),
  ]
  const messages = selectImages('anthropic:claude-sonnet-4-6', true, said)
  const limits = { window: 8_000, max_output_tokens: null, ratio: 1 }
  const fitted = fitRequest({ messages, tools: [], max_tokens: 500 }, limits, {
    context_limit: 256_000,
    context_full: 0.75,
    context_target: 0.45,
  })
  const results = fitted.messages.filter(({ role }) => role === 'tool')
  expect(results.map(({ images = [] }) => images.length)).toEqual([0, 0, 1, 1])
  expect(results[0]!.content).toBe(
    'Page 1.\n[Image "page.png" (image/png, 1500 × 1000 pixels): removed to save space. Call shoot {"of":"page 1"} again to see it.]',
  )
  expect(fitted.messages[0]!.images).toHaveLength(1)
  expect(fitted.sections.messages).toBeLessThan(8_000 * 0.75)
  expect(fitted.digested).toBe(0)
})

it('the oldest images beyond the maximum of a request are replaced by text', () => {
  const said: Message[] = Array.from({ length: 23 }, (_, n) => ({
    role: 'user',
    content: `${n}`,
    images: [imageOf(9, 9)],
  }))
  const shown = selectImages('openai:gpt-5.4', true, said)
  expect(shown.map(({ images = [] }) => images.length)).toEqual([...Array(10).fill(0), ...Array(13).fill(1)])
  expect(shown[0]!.content).toMatch(/left out, because a request may contain at most 20 images/)
  expect(selectImages('openai:gpt-5.4', true, said)[0]).toBe(shown[0])
})

it('the image of the newest result is replaced by text when it alone exceeds the window', () => {
  const said: Message[] = [
    { role: 'user', content: 'Goal: look' },
    { role: 'assistant', content: '', tool_calls: [{ id: 'c1', name: 'shoot', arguments: {} }] },
    { role: 'tool', tool_call_id: 'c1', name: 'shoot', content: 'The page.', images: [imageOf(1_500, 1_000)] },
  ]
  const limits = { window: 2_000, max_output_tokens: null, ratio: 1 }
  const { messages } = fitRequest(
    { messages: selectImages('anthropic:claude-sonnet-4-6', true, said), tools: [], max_tokens: 500 },
    limits,
    { context_limit: 256_000, context_full: 0.75, context_target: 0.45 },
  )
  expect(messages.at(-1)!.images).toBeUndefined()
  expect(messages.at(-1)!.content).toMatch(/^The page\.\n\[Image "page\.png" .*: removed to save space/)
})

it('images count in the maximum cost of a call', () => {
  const request = {
    tools: [],
    max_tokens: 10,
    messages: [{ role: 'user' as const, content: '', images: [imageOf(560, 280)] }],
  }
  expect(boundOf(request, 'free').tokens).toBe(214)
})
