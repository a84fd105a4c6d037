import { describe, expect, it, test } from 'vitest'
import type { Message } from '#core/models/contract'
import {
  CONTENT_SIGNS,
  PARAMETER_SIGNS,
  type RefusalKind,
  refusalIn,
  SHAPE_SIGNS,
} from '#core/models/providers/refusals'
import { type ModelServerRequest, refuse, runHeartbeat, text, until } from '../../../support/index.ts'
import { finish, goalAnswer } from '../../safety/approvals-host.ts'
import { asksForGoal, detail, goalsOf, rows, spawn, testHostWithModel } from '../models/model-host.ts'
import { QUICK, testHostForModels } from '../models/models-host.ts'

/** Refusals as providers word them, each with the key of the request that it means. */
const PARAMETERS: [of: string, message: string, key: string][] = [
  ['OpenAI', "Unsupported parameter: 'temperature' is not supported with this model.", 'temperature'],
  [
    'OpenAI',
    "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1)",
    'temperature',
  ],
  [
    'OpenAI',
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'",
    'max_tokens',
  ],
  ['OpenAI', 'Unrecognized request argument supplied: reasoning_effort', 'reasoning_effort'],
  ['OpenAI', "Unknown parameter: 'top_k'.", 'top_k'],
  [
    ...([
      'OpenAI',
      "Unknown parameter: 'messages[0].content[0].prompt_cache_breakpoint'.",
      'prompt_cache_breakpoint',
    ] as const),
  ],
  [
    ...([
      'OpenAI',
      'Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions. Please use /v1/responses instead.',
    ] as const),
    'chat_completions',
  ],
  ['OpenAI', 'This is not a chat model and thus not supported in v1/chat/completions.', 'chat_completions'],
  ['OpenAI', "Unsupported value: 'reasoning.effort' does not support 'max' with this model.", 'reasoning.effort'],
  ['OpenAI', 'Your organization must be verified to generate reasoning summaries.', 'reasoning.summary'],
  ['OpenAI', 'Encrypted content is not supported with this model.', 'include'],
  ['Anthropic', 'temperature: Extra inputs are not permitted', 'temperature'],
  [
    'Anthropic',
    '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".',
    'thinking.type.enabled',
  ],
  ['Anthropic', '"thinking.type.disabled" is not supported for this model.', 'thinking.type.disabled'],
  ['Anthropic', 'adaptive thinking is not supported on this model', 'thinking'],
  ['Anthropic', 'This model does not support the effort parameter.', 'output_config'],
  ['Anthropic', '`temperature` and `top_p` cannot both be specified for this model.', 'top_p'],
  ['Anthropic', '`temperature` may only be set to 1 when thinking is enabled.', 'temperature'],
  ['Mistral', 'extra_forbidden random_seed: Extra inputs are not permitted', 'random_seed'],
  ['Mistral', 'body.messages.2.assistant.reasoning_content: Extra inputs are not permitted', 'reasoning_content'],
  ['Fireworks', "Extra inputs are not permitted, field: 'verbosity'", 'verbosity'],
  [
    ...([
      'vLLM',
      "[{'type': 'extra_forbidden', 'loc': ('body', 'verbosity'), 'msg': 'Extra inputs are not permitted'}]",
    ] as const),
    'verbosity',
  ],
  ['Ollama', '"llama3.2" does not support thinking', 'reasoning_effort'],
  ['Kimi', 'invalid temperature: only 1 is allowed for this model', 'temperature'],
  ['Z.ai', 'temperature参数非法。请检查文档。', 'temperature'],
  ['GigaChat', 'Invalid params: temperature must be in range (0, +inf)', 'temperature'],
  ['Mistral', "Reasoning effort 'medium' is not among ['low', 'high', 'max']", 'reasoning_effort'],
  ['Gemini', 'Budget 0 is invalid. This model only works in thinking mode.', 'reasoning_effort'],
  ['Gemini', 'The model does not support setting thinking_budget to 0', 'reasoning_effort'],
  ['Gemini', 'The thinking budget (52428) is invalid.', 'extra_body'],
  ['OpenRouter', 'Reasoning is mandatory for this endpoint and cannot be disabled.', 'reasoning'],
  ['Ollama', 'think value "low" is not supported for this model', 'reasoning_effort'],
  ['Groq', "property 'verbosity' is unsupported", 'verbosity'],
  ['Groq', '`reasoning_effort` is not supported with this model', 'reasoning_effort'],
  ['Groq', '`reasoning_effort` must be one of `none` or `default`', 'reasoning_effort'],
  ['xAI', 'Model grok-4 does not support parameter reasoningEffort.', 'reasoning_effort'],
  ['xAI', 'Argument not supported on this model: stop', 'stop'],
  ['LiteLLM', "openai does not support parameters: ['reasoning_effort'], for model=gpt-4o", 'reasoning_effort'],
  ['Gemini', 'Invalid JSON payload received. Unknown name "seed": Cannot find field.', 'seed'],
  ['Gemini', 'Thinking budget is not supported for this model.', 'extra_body'],
  ['Gemini', 'Thinking level is not supported for this model.', 'reasoning_effort'],
  ['a proxy', 'stream_options: unknown field `include_usage`', 'stream_options'],
  ['many', 'max_tokens is not supported, use max_completion_tokens', 'max_tokens'],
]

const CONTENT: [of: string, message: string][] = [
  ['OpenAI', 'invalid_prompt Your prompt was flagged as potentially violating our usage policy.'],
  ['OpenAI', 'Your request was rejected as a result of our safety system.'],
  ['Azure OpenAI', "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."],
  ['Anthropic', 'Output blocked by content filtering policy'],
  ['Gemini', 'The request was blocked: PROHIBITED_CONTENT'],
  ['DeepSeek', 'Content Exists Risk'],
  ['Qwen', 'data_inspection_failed Input data may contain inappropriate content.'],
  ['Kimi', 'The request was rejected because it was considered high risk'],
  ['OpenRouter', 'This model requires moderation on OpenInference. Your input was flagged for "violence".'],
  ['xAI', 'Content violates usage guidelines.'],
]

const SHAPES: [of: string, message: string][] = [
  ['Anthropic', 'messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.'],
  ['Anthropic', 'messages.2: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1.'],
  ['Anthropic', 'messages.2: each tool_use must have a single result.'],
  ['Anthropic', 'messages: text content blocks must be non-empty'],
  [
    'Anthropic',
    'This model does not support assistant message prefill. The conversation must end with a user message.',
  ],
  ['Anthropic', 'messages: final assistant content cannot end with trailing whitespace'],
  ['Anthropic', 'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.'],
  ['Anthropic', 'messages.1.content.0: Invalid `signature` in `thinking` block'],
  ['vLLM', 'Conversation roles must alternate user/assistant/user/assistant/...'],
  [
    'OpenAI',
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
  ],
  ['OpenAI', 'No tool output found for function call call_1.'],
  ['OpenAI', 'invalid_encrypted_content The encrypted content gAAA could not be verified.'],
  ['OpenAI', "Item 'rs_1' of type 'reasoning' was provided without its required following item."],
  ['Mistral', "Unexpected role 'user' after role 'tool'"],
  ['Mistral', 'Not the same number of function calls and responses'],
  ['Gemini', 'Please ensure that function call turn comes immediately after a user turn.'],
  ['Gemini', 'Function call is missing a thought_signature in functionCall parts.'],
  ['DeepSeek', 'The `reasoning_content` in the thinking mode must be passed back to the API.'],
  ['DeepSeek', 'Missing `reasoning_content` field in the assistant message at message index 2.'],
  ['llama.cpp', 'Jinja Exception: only user and assistant roles are supported'],
  ['Ollama', 'Cannot have 2 or more assistant messages at the end of the list.'],
]

describe('a refusal', () => {
  it.each(PARAMETERS)('of %s is about a parameter: %s', (_, message, parameter) => {
    expect(refusalIn(400, message)).toMatchObject({ kind: 'unsupported_parameter', parameter })
  })

  it('of OpenAI with HTTP 404 is about the API, not the model', () => {
    const message = 'This model is only supported in v1/responses and not in v1/chat/completions.'
    expect(refusalIn(404, message)).toMatchObject({ parameter: 'chat_completions' })
  })

  it('of Gemini that is about the schema of a tool names no parameter', () => {
    const message = (name: string) =>
      `Invalid JSON payload received. Unknown name "${name}" at 'tools[0].function_declarations[16].parameters': Cannot find field.`
    expect(refusalIn(400, `${message('$defs')}\n${message('$ref')}`)).toBeUndefined()
    expect(refusalIn(400, `${message('$ref')} Unknown name "seed": Cannot find field.`)).toMatchObject({
      parameter: 'seed',
    })
  })

  it.each(CONTENT)('of %s is about the content: %s', (_, message) => {
    expect(refusalIn(400, message)).toMatchObject({ kind: 'content_policy' })
  })

  it.each(SHAPES)('of %s is about the form of the messages: %s', (_, message) => {
    expect(refusalIn(400, message)).toMatchObject({ kind: 'invalid_request' })
  })

  it.each([
    [400, 'llama-9 is not a valid model ID'],
    [400, 'messages: field is required'],
    [400, 'The model `x` is not supported'],
    [401, 'Incorrect API key provided'],
    [403, 'Your account is not permitted to use this model'],
    [404, 'The model does not exist'],
    [429, 'Content violates usage guidelines'],
    [400, 'registry.ollama.ai/library/tiny:latest does not support tools'],
  ])('with HTTP %i is none of these: %s', (status, message) => {
    expect(refusalIn(status, message)).toBeUndefined()
  })

  it('has an example above for each known wording', () => {
    for (const [signs, examples] of [
      [PARAMETER_SIGNS, PARAMETERS],
      [CONTENT_SIGNS, CONTENT],
      [SHAPE_SIGNS, SHAPES],
    ] as const) {
      const without = signs.filter(({ says }) => !examples.some(([, message]) => says.test(message)))
      expect(without.map(({ says }) => String(says))).toEqual([])
    }
  })
})

/** Refuses requests that contain one of these keys, as OpenAI does. */
function without(...keys: string[]) {
  return ({ body }: ModelServerRequest) => {
    const key = keys.find(each => each in body)
    if (key === undefined) return text('Done.')
    return refuse(400, `Unsupported parameter: '${key}' is not supported with this model.`, {
      code: 'unsupported_parameter',
    })
  }
}

test('a parameter that a model refuses is left out in the same call and from then on, for this model alone', async () => {
  const script = ({ body, ...request }: ModelServerRequest) =>
    body.model === 'picky' ? without('temperature', 'max_tokens', 'top_k')({ body, ...request }) : text('Done.')
  const { call, server, host } = await testHostForModels(script)
  const asked = { parameters: { top_p: 0.5, extra: { top_k: 4 } } }
  const { spend } = await call({ model: 'openai:picky', ...asked })
  expect(spend.attempts).toBe(1)
  expect(server.requests).toHaveLength(4)
  await call({ model: 'openai:picky', ...asked })
  expect(server.requests).toHaveLength(5)
  expect(server.requests[4]!.body).toMatchObject({ max_completion_tokens: 1000, top_p: 0.5 })
  for (const key of ['temperature', 'max_tokens', 'top_k']) expect(server.requests[4]!.body).not.toHaveProperty(key)
  expect(host.logged('openai:picky does not accept temperature (HTTP 400: Unsupported parameter')).toHaveLength(1)
  await call({ model: 'openai:other', ...asked })
  expect(server.requests[5]!.body).toMatchObject({ temperature: 0, max_tokens: 1000, top_k: 4 })
})

test('a server that does not know stream_options is asked without it, and the operator need not do anything', async () => {
  const { call, server, host } = await testHostForModels(({ body }) =>
    body.stream_options ? refuse(422, 'stream_options: Extra inputs are not permitted') : text('Done.'),
  )
  expect((await call()).spend).toMatchObject({ attempts: 1, estimated: true })
  await call()
  expect(server.requests.map(({ body }) => body.stream_options !== undefined)).toEqual([true, false, false])
  expect(host.logged('stream_options').map(({ msg }) => msg)).toEqual([
    'openai:scripted-1 does not accept stream_options (HTTP 422: stream_options: Extra inputs are not permitted). From now on, its requests leave it out.',
  ])
})

test('a parameter that cannot be left out ends the call with an error that names it', async () => {
  const { failing, server } = await testHostForModels(() => refuse(400, "Unsupported parameter: 'seed'"))
  const error = await failing({ parameters: { seed: 1 } })
  expect(error).toMatchObject({ kind: 'unsupported_parameter', transient: false, billed: false })
  expect(error.message).toContain('remove seed from the parameters of the model, the profile or the task')
  expect(server.requests).toHaveLength(2)
})

test.for<[kind: RefusalKind['kind'], status: number, message: string, remedy: string]>([
  ['content_policy', 400, 'Content Exists Risk', 'reword the goal, or choose another model'],
  ['invalid_request', 500, 'Jinja Exception: no', 'choose another model with: svc edit'],
])(
  'a goal that is refused permanently (%s) ends, is not sent again, and svc why names the remedy',
  async ([, status, message, remedy]) => {
    let goals = 0
    await using home = await testHostWithModel(
      request => {
        if (asksForGoal(request)) return goalAnswer(`Try number ${++goals}`)
        return request.prompt.includes('Try number 1') ? refuse(status, message) : finish('The second works.')
      },
      { config: QUICK },
    )
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    for (let n = 0; n < 8 && home.server.requests.length < 2; n++) await runHeartbeat(home)
    const [goal] = await goalsOf(home, id)
    expect(goal).toMatchObject({ status: 'abandoned', result: expect.stringContaining(message) })
    const why = (await home.kernel.invoke('agents.why', { id })) as { reason: string }
    expect(why.reason).toContain(remedy)
    for (let n = 0; n < 8; n++) await runHeartbeat(home)
    const sent = home.server.requests.filter(
      request => !asksForGoal(request) && request.prompt.includes('Goal: Try number 1'),
    )
    expect(sent).toHaveLength(1)
    expect((await goalsOf(home, id)).map(({ status }) => status)).toContain('completed')
    expect(await detail(home, id)).toMatchObject({ error: null })
  },
)

test('an answer that a content filter withheld asks the fallback, and without one ends the goal', async () => {
  const withheld = text('', { finish_reason: 'content_filter' })
  await using home = await testHostWithModel(
    request => {
      if (asksForGoal(request)) return goalAnswer('Describe how the lock works')
      return request.body.model === 'scripted-2' ? finish('Described.') : withheld
    },
    { config: QUICK, files: { 'profiles/bold.yaml': 'name: bold\nrole: r\nfallback: [openai:scripted-2]\n' } },
  )
  const [plain, bold] = [await spawn(home), await spawn(home, 'bold')]
  home.kernel.heartbeat.start()
  const ended = async () => (await Promise.all([plain, bold].map(id => goalsOf(home, id)))).map(goals => goals.at(-1))
  await until(async () => (await ended()).every(goal => goal && goal.status !== 'active'))
  expect((await ended()).map(goal => [goal?.status, goal?.result])).toEqual([
    ['abandoned', expect.stringContaining('a content filter withheld its answer; its provider refuses the content')],
    ['completed', 'Described.'],
  ])
})

test.for<[what: string, status: number, message: string, requests: number]>([
  ['its content', 400, 'Content Exists Risk', 1],
  ['an unknown reason', 400, 'no', 3],
])(
  'an agent whose model refuses to choose a goal because of %s does not ask again until something changes',
  async ([, status, message, requests]) => {
    let isRefusing = true
    await using home = await testHostWithModel(
      request => {
        if (!asksForGoal(request)) return finish('It works.')
        return isRefusing ? refuse(status, message) : goalAnswer('Try it once more')
      },
      { config: QUICK },
    )
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    const live = async () => {
      for (let n = 0; n < 8; n++) {
        await runHeartbeat(home)
        await home.clock.advance(60_000)
      }
    }
    await live()
    expect(home.server.requests).toHaveLength(requests)
    const why = (await home.kernel.invoke('agents.why', { id })) as { reason: string; at: string | null }
    expect(why.reason).toContain('Its model does not accept the request for a new goal')
    expect(why.reason).toContain(message)
    expect(why.at).toBeNull()

    // A message of the operator makes another request, which is refused too, once.
    await home.kernel.invoke('agents.nudge', { id, message: 'Look at the tide tables.' })
    await live()
    expect(home.server.requests.at(-1)!.prompt).toContain('Look at the tide tables.')
    const refused = home.server.requests.length
    await live()
    expect(home.server.requests).toHaveLength(refused)

    isRefusing = false
    await home.kernel.invoke('agents.update', { id, model: 'openai:other' })
    await live()
    expect(home.server.requests[refused]!.prompt).toContain('Look at the tide tables.')
    expect((await goalsOf(home, id)).map(({ status }) => status)).toContain('completed')
  },
)

test('a goal whose requests are refused for an unknown reason ends after three cycles, and the agent carries on', async () => {
  let goals = 0
  await using home = await testHostWithModel(
    request => {
      if (asksForGoal(request)) return goalAnswer(goals++ > 0 ? '' : 'Try number 1')
      return refuse(400, `foo (request ${request.n})`)
    },
    { config: QUICK },
  )
  const id = await spawn(home)
  home.kernel.heartbeat.start()
  for (let n = 0; n < 60; n++) await runHeartbeat(home)
  const [goal] = await goalsOf(home, id)
  expect(goal).toMatchObject({ status: 'abandoned', result: expect.stringMatching(/HTTP 400: foo/) })
  const sent = home.server.requests.filter(request => !asksForGoal(request))
  // In each cycle the request is sent once more, with fewer tools.
  const tools = sent.map(({ body }) => body.tools!.length)
  expect(tools).toHaveLength(6)
  expect(tools[1]).toBeLessThan(tools[0]!)
  expect(await rows(home, "SELECT type FROM events WHERE type = 'goal_abandoned'")).toHaveLength(1)
  expect(await detail(home, id)).toMatchObject({ status: 'idle' })
})

test('a size refused in unknown words is learned: the call is repeated smaller, and the next ones fit', async () => {
  const long = 'Nothing of note stands here. '.repeat(40)
  const messages: Message[] = Array.from({ length: 60 }, (_, n) => ({
    role: n % 2 ? 'assistant' : 'user',
    content: `${n} ${long}`,
  }))
  messages.push({ role: 'user', content: 'Go on.' })
  const { call, server, host } = await testHostForModels(({ prompt }) =>
    prompt.length > 30_000 ? refuse(400, 'foo') : text('It fits.'),
  )
  expect((await call({ messages })).text).toBe('It fits.')
  expect(server.requests).toHaveLength(2)
  expect(host.logged('sent once more, smaller and without images and provider data')).toHaveLength(1)
  expect((await call({ messages })).text).toBe('It fits.')
  expect(server.requests).toHaveLength(3)
})

test('a refused request that cannot be made smaller or plainer is not repeated', async () => {
  const { failing, server } = await testHostForModels(() => refuse(422, 'foo'))
  expect(await failing()).toMatchObject({ kind: 'refused', http_status: 422 })
  expect(server.requests).toHaveLength(1)
})
