/** A chat completion request as it came over the wire. */
export interface ModelRequestBody {
  model: string
  messages: {
    role: string
    /** Text of the message; for a message in parts, the text of its parts. */
    content: string | null
    /** URLs of the images. */
    images?: string[]
    /** Original parts of a message in parts. */
    parts?: unknown[]
    tool_calls?: unknown[]
    tool_call_id?: string
    reasoning_content?: string
  }[]
  tools?: { type: 'function'; function: { name: string; description: string; parameters: Record<string, unknown> } }[]
  stream?: boolean
  stream_options?: { include_usage?: boolean }
  temperature?: number
  max_tokens?: number
  max_completion_tokens?: number
  reasoning_effort?: string
}

/** An answer with an error status. */
export interface Refusal {
  kind: 'refusal'
  status: number
  message: string
  headers: Record<string, string>
  code?: string
}

/** An answer with an error status, such as 400 or 401. */
export function refuse(
  status: number,
  message: string,
  more: Partial<Pick<Refusal, 'headers' | 'code'>> = {},
): Refusal {
  return { kind: 'refusal', status, message, headers: {}, ...more }
}

type WireMessage = ModelRequestBody['messages'][number]

/**
 * Provider whose rules check a request. `common` refuses what any provider refuses, except for rules that only Mistral
 * has. Sources of the rules and texts: the providers' documents and public reports that quote their answers, as read on
 * 2026-11-24 (litellm#10083, rig#1130, datapizza-ai#98, mistralai/client-ts#106, gemini-cli#3814 and #11814, vllm#6862,
 * llama.cpp#20861, hermes-agent#80265).
 */
export type Dialect = 'common' | 'openai' | 'mistral' | 'gemini' | 'deepseek' | 'vllm' | 'llamacpp' | 'ollama'

interface Rule {
  dialects: readonly Dialect[]
  status: number
  message: string
  code?: string
  /** Whether the rule applies only to models that think. */
  isOfThinking?: true
  isBroken(messages: readonly WireMessage[]): boolean
}

const ALL: readonly Dialect[] = ['openai', 'mistral', 'gemini', 'deepseek', 'vllm', 'llamacpp', 'ollama']

const RULES: readonly Rule[] = [
  {
    dialects: ['openai'],
    status: 400,
    message:
      "Invalid 'messages[1].tool_calls[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    isBroken: messages =>
      messages.some(({ tool_calls = [] }) =>
        tool_calls.some(call => !/^[a-zA-Z0-9_-]{1,64}$/.test((call as { function: { name: string } }).function.name)),
      ),
  },
  {
    dialects: ALL,
    status: 400,
    message:
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages.",
    isBroken: messages => callsByTurn(messages).some(({ asked, answered }) => asked.some(id => !answered.includes(id))),
  },
  {
    dialects: ALL,
    status: 400,
    message:
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    isBroken: messages => callsByTurn(messages).some(({ asked, answered }) => answered.some(id => !asked.includes(id))),
  },
  {
    dialects: ['mistral'],
    status: 400,
    message: 'Not the same number of function calls and responses',
    code: '3230',
    isBroken: messages => callsByTurn(messages).some(({ asked, answered }) => asked.length !== answered.length),
  },
  {
    dialects: ['gemini'],
    status: 400,
    message:
      'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
    isBroken: messages => callsByTurn(messages).some(({ asked, answered }) => asked.length !== answered.length),
  },
  {
    dialects: ['gemini'],
    status: 400,
    message:
      'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
    isBroken: messages =>
      messages.some(
        ({ tool_calls }, n) => tool_calls?.length && !['user', 'tool'].includes(messages[n - 1]?.role ?? ''),
      ),
  },
  {
    dialects: ['mistral'],
    status: 400,
    message: "Unexpected role 'user' after role 'tool'",
    code: '3230',
    isBroken: messages => messages.some(({ role }, n) => role === 'user' && messages[n - 1]?.role === 'tool'),
  },
  {
    dialects: ['mistral'],
    status: 400,
    message: 'Tool call id must be a-z, A-Z, 0-9, with a length of 9.',
    code: '3280',
    isBroken: messages => callsByTurn(messages).some(({ asked }) => asked.some(id => !/^[a-zA-Z0-9]{9}$/.test(id))),
  },
  {
    dialects: ['mistral', 'gemini'],
    status: 400,
    message: 'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant',
    isBroken: messages => messages.at(-1)?.role === 'assistant',
  },
  {
    dialects: ['llamacpp'],
    status: 400,
    message: 'Assistant response prefill is incompatible with enable_thinking.',
    isBroken: messages => messages.at(-1)?.role === 'assistant',
  },
  {
    dialects: ['ollama'],
    status: 400,
    message: 'Cannot have 2 or more assistant messages at the end of the list.',
    isBroken: messages => messages.slice(-2).every(({ role }) => role === 'assistant'),
  },
  {
    dialects: ['vllm', 'llamacpp'],
    status: 400,
    message: 'Conversation roles must alternate user/assistant/user/assistant/...',
    isBroken: messages =>
      messages.some(({ role }, n) => (role === 'user' || role === 'assistant') && messages[n - 1]?.role === role),
  },
  {
    dialects: ['vllm', 'llamacpp', 'mistral', 'gemini'],
    status: 400,
    message: 'Jinja Exception: After the optional system message, conversation roles must begin with user',
    isBroken: messages => messages.find(({ role }) => role !== 'system')?.role !== 'user',
  },
  {
    dialects: ['vllm', 'llamacpp', 'mistral', 'gemini'],
    status: 400,
    message: 'System message must be at the beginning.',
    isBroken: messages => messages.slice(1).some(({ role }) => role === 'system'),
  },
  {
    dialects: ['openai'],
    status: 400,
    message: "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40.",
    isBroken: messages => callsByTurn(messages).some(({ asked }) => asked.some(id => id.length > 40)),
  },
  {
    dialects: ['deepseek'],
    status: 400,
    isOfThinking: true,
    message: 'The `reasoning_content` in the thinking mode must be passed back to the API.',
    isBroken: messages =>
      messages.some(({ tool_calls, reasoning_content }) => tool_calls?.length && reasoning_content === undefined),
  },
  {
    dialects: ['gemini'],
    status: 400,
    isOfThinking: true,
    message: 'Function call is missing a thought_signature in functionCall parts.',
    isBroken: messages => messages.some(({ tool_calls }) => tool_calls?.length && !signatureOf(tool_calls[0])),
  },
  {
    dialects: ['openai', 'deepseek', 'mistral', 'gemini'],
    status: 400,
    message: 'messages: text content must be non-empty',
    isBroken: messages =>
      messages.some(
        ({ content, tool_calls, images }) =>
          String(content ?? '').trim() === '' && !tool_calls?.length && !(images && images.length > 0),
      ),
  },
  {
    dialects: ALL,
    status: 400,
    message: "Invalid 'messages'. Image URLs are only allowed for messages with role 'user'.",
    isBroken: messages => messages.some(({ role, images }) => role !== 'user' && images && images.length > 0),
  },
  {
    dialects: ALL,
    status: 400,
    message:
      "You uploaded an unsupported image. Please make sure your image has one of the following formats: ['png', 'jpeg', 'webp'].",
    isBroken: messages => imagesIn(messages).some(url => typeOf(url) === undefined),
  },
  {
    dialects: ALL,
    status: 400,
    message: 'The image exceeds 5 MB maximum.',
    isBroken: messages => imagesIn(messages).some(url => url.length > 5 * 1024 * 1024),
  },
]

/** Messages of each provider for a model that does not accept images. */
const BLIND: Record<Dialect, string> = {
  common: 'Invalid content type. image_url is only supported by certain models.',
  openai: 'Invalid content type. image_url is only supported by certain models.',
  mistral: 'Image input is not enabled for this model',
  gemini: 'Image input modality is not supported for this model',
  deepseek:
    'Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, expected `text`',
  vllm: 'At most 0 image(s) may be provided in one prompt.',
  llamacpp: 'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj',
  ollama: 'this model is missing data required for image input',
}

/** First base64 characters of an image by the media type in its URL, which providers check. */
const BEGINS: Readonly<Record<string, string>> = {
  'image/png': 'iVBORw0KGgo',
  'image/jpeg': '/9j/',
  'image/webp': 'UklGR',
}

function imagesIn(messages: readonly WireMessage[]): string[] {
  return messages.flatMap(({ images = [] }) => images)
}

/** Returns the media type of a data URL if its bytes are of that type. */
function typeOf(url: string): string | undefined {
  const [, type = '', data = ''] = /^data:([^;]+);base64,([A-Za-z0-9+/]+={0,2})$/.exec(url) ?? []
  const begin = BEGINS[type]
  return begin && data.startsWith(begin) ? type : undefined
}

/** Splits a message as it came over the wire into its text and its images. */
export function readMessage(message: WireMessage): WireMessage {
  const parts: unknown = message.content
  if (!Array.isArray(parts)) return message
  const texts = parts.flatMap(part => (part.type === 'text' ? [String(part.text)] : []))
  const images = parts.flatMap(part => (part.type === 'image_url' ? [String(part.image_url?.url)] : []))
  return { ...message, content: texts.join('\n'), images, parts }
}

/** Returns each provider's refusal of a request that exceeds the window. */
const OVERFLOWS: Record<Dialect, (window: number, tokens: number) => Refusal> = {
  common: (window, tokens) => OVERFLOWS.openai(window, tokens),
  openai: (window, tokens) =>
    refuse(400, `This model's maximum context length is ${window} tokens. However, you requested ${tokens} tokens.`, {
      code: 'context_length_exceeded',
    }),
  mistral: (window, tokens) =>
    refuse(400, `Prompt contains ${tokens} tokens, too large for model with ${window} maximum context length`),
  gemini: (window, tokens) =>
    refuse(400, `The input token count (${tokens}) exceeds the maximum number of tokens allowed (${window}).`),
  deepseek: (window, tokens) =>
    refuse(400, `This model's maximum context length is ${window} tokens. However, you requested ${tokens} tokens.`),
  vllm: (window, tokens) =>
    refuse(400, `You passed ${tokens} input tokens, and the model's context length is only ${window} tokens.`),
  llamacpp: window => refuse(400, `request exceeds the available context size (${window} tokens), try increasing it`),
  ollama: () => refuse(400, 'the request is greater than the context length'),
}

/**
 * Returns how a provider would refuse a request of OpenAI's chat completions; undefined when it would answer.
 * @param thinks whether the model thinks and expects its thinking to be sent back
 * @param window maximum tokens of input and output together; Infinity sets no limit
 */
export function refusalOf(
  body: ModelRequestBody,
  {
    dialect = 'common',
    thinks = false,
    window = Number.POSITIVE_INFINITY,
    vision = true,
  }: { dialect?: Dialect; thinks?: boolean; window?: number; vision?: boolean } = {},
): Refusal | undefined {
  const messages = body.messages.map(readMessage)
  if (dialect === 'openai' && needsResponses(body)) return refuse(400, NEEDS_RESPONSES(body.model))
  if (!vision && imagesIn(messages).length > 0) return refuse(400, BLIND[dialect])
  const isAsked = ({ dialects, isOfThinking }: Rule) =>
    (!isOfThinking || thinks) &&
    (dialect === 'common' ? dialects.some(each => each !== 'mistral') : dialects.includes(dialect))
  const broken = RULES.find(rule => isAsked(rule) && rule.isBroken(messages))
  if (broken) return refuse(broken.status, broken.message, broken.code ? { code: broken.code } : {})
  const tokens = tokensIn(body) + (body.max_tokens ?? body.max_completion_tokens ?? 0)
  return tokens > window ? OVERFLOWS[dialect](window, tokens) : undefined
}

const NEEDS_RESPONSES = (model: string) =>
  `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`

/**
 * Returns whether OpenAI refuses tools in chat completions: for models since GPT-5.4 that think, which they do by default
 * since GPT-5.5 (litellm#34569, openai-openapi#541).
 */
function needsResponses({ model, tools = [], reasoning_effort }: ModelRequestBody): boolean {
  const effort = reasoning_effort ?? (/^gpt-(5\.[5-9]|[6-9])/.test(model) ? 'medium' : 'none')
  return tools.length > 0 && /^gpt-(5\.[4-9]|[6-9])/.test(model) && effort !== 'none'
}

/** Tokens of a request's text, at four characters a token. */
export function tokensIn({ messages, tools }: Pick<ModelRequestBody, 'messages' | 'tools'>): number {
  const said = messages.reduce((sum, { content, tool_calls }) => {
    return sum + (content?.length ?? 0) + (tool_calls ? JSON.stringify(tool_calls).length : 0)
  }, 0)
  return Math.ceil((said + (tools ? JSON.stringify(tools).length : 0)) / 4)
}

function signatureOf(call: unknown): string | undefined {
  const { extra_content } = call as { extra_content?: { google?: { thought_signature?: string } } }
  return extra_content?.google?.thought_signature
}

/** The ids of the calls of each message, and of the results right after it. */
function callsByTurn(messages: readonly WireMessage[]): { asked: string[]; answered: string[] }[] {
  const found: { asked: string[]; answered: string[] }[] = []
  for (const { role, tool_calls = [], tool_call_id } of messages) {
    if (role === 'tool') {
      if (found.length === 0) found.push({ asked: [], answered: [] })
      found.at(-1)!.answered.push(tool_call_id ?? '')
    } else found.push({ asked: tool_calls.map(call => (call as { id: string }).id), answered: [] })
  }
  return found
}
