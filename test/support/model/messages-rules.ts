/** A request of Anthropic's Messages API as it came over the wire. */
export interface MessagesRequestBody {
  model: string
  max_tokens: number
  temperature?: number
  top_p?: number
  stream?: boolean
  thinking?: { type: string; budget_tokens?: number; display?: string }
  system?: { type: 'text'; text: string; cache_control?: unknown }[]
  messages: { role: 'user' | 'assistant'; content: Block[] }[]
  tools?: { name: string; description: string; input_schema: Record<string, unknown>; cache_control?: unknown }[]
}

type Block = Record<string, unknown>

/** Signature of the thinking that the test servers send. */
export const SIGNATURE = 'c2ln'
const MAX_CACHED = 4
const ID = /^[a-zA-Z0-9_-]{1,64}$/

/**
 * Returns why the real API would refuse a request; undefined when it would answer. Sources: the API's reference as read
 * on 2026-11-24, and public reports that quote its answers (claude-code#59812 and #23369,
 * vscode-unify-chat-provider#249, forgecode#1872, OpenHands' classifier).
 */
export function faultIn(body: MessagesRequestBody): string | undefined {
  const { messages, system = [], tools = [] } = body
  const marked = [...system, ...tools, ...messages.flatMap(({ content }) => content)].filter(each => each.cache_control)
  if (marked.length > MAX_CACHED) return `A maximum of ${MAX_CACHED} blocks with cache_control may be provided.`
  if (system.some(({ text }) => !text.trim())) return 'system: text content blocks must be non-empty'
  return parameterFault(body) ?? messagesFault(messages) ?? thinkingFault(body)
}

function parameterFault({ model, max_tokens, thinking, ...body }: MessagesRequestBody): string | undefined {
  for (const key of ['temperature', 'top_p', 'top_k', 'seed', 'stop', 'reasoning_effort', 'verbosity']) {
    if (key in body) return `${key}: Extra inputs are not permitted`
  }
  const { type = 'adaptive', budget_tokens = 0 } = thinking ?? {}
  if (!settingsOf(model).includes(type)) {
    return `"thinking.type.${type}" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`
  }
  if (type !== 'enabled') return undefined
  if (budget_tokens < 1024) return 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024'
  return max_tokens > budget_tokens ? undefined : '`max_tokens` must be greater than `thinking.budget_tokens`.'
}

/** Returns the types of `thinking` that a model accepts: https://platform.claude.com/docs/en/build-with-claude/thinking */
function settingsOf(model: string): string[] {
  if (/sonnet-5-5/.test(model)) return ['adaptive', 'between_tools']
  if (/fable|mythos|opus-5-5/.test(model)) return ['adaptive']
  return omitsThinking(model) ? ['adaptive', 'disabled'] : ['adaptive', 'disabled', 'enabled']
}

/** Whether a model thinks by default, and shows nothing of it unless asked to. */
export function omitsThinking(model: string): boolean {
  return /(?:fable|mythos|opus|sonnet|haiku)-5/.test(model)
}

function messagesFault(messages: MessagesRequestBody['messages']): string | undefined {
  if (messages[0]?.role !== 'user') return 'messages: first message must use the "user" role'
  if (messages.at(-1)?.role === 'assistant') {
    return 'This model does not support assistant message prefill. The conversation must end with a user message.'
  }
  for (const [n, { role, content }] of messages.entries()) {
    if (messages[n - 1]?.role === role) return 'messages: roles must alternate between "user" and "assistant"'
    if (content.length === 0) return `messages.${n}: all messages must have non-empty content`
    if (content.some(({ type, text }) => type === 'text' && !String(text).trim())) {
      return `messages.${n}: text content blocks must contain non-whitespace text`
    }
    const inside = content.flatMap(block => (block.type === 'tool_result' ? [block.content].flat() : [block]))
    const image = (inside as (ImageBlock | undefined)[]).map(imageFault).find(Boolean)
    if (image) return `messages.${n}: ${image}`
    const fault = callsFault(n, content, messages[n - 1]?.content ?? [])
    if (fault) return fault
  }
  return undefined
}

function callsFault(n: number, content: readonly Block[], before: readonly Block[]): string | undefined {
  const results = content.filter(({ type }) => type === 'tool_result')
  const asked = before.flatMap(({ type, id }) => (type === 'tool_use' ? [id] : []))
  const answered = results.map(({ tool_use_id }) => tool_use_id)
  const ids = [...answered, ...content.flatMap(({ type, id }) => (type === 'tool_use' ? [id] : []))]
  const bad = ids.find(id => !ID.test(String(id)))
  if (bad !== undefined) return `messages.${n}.content: id: String should match pattern '^[a-zA-Z0-9_-]+$'`
  if (
    content.slice(0, results.length).some(({ type }) => type !== 'tool_result') ||
    asked.some(id => !answered.includes(id))
  ) {
    return `messages.${n}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after`
  }
  if (answered.some(id => !asked.includes(id))) {
    return `messages.${n}: unexpected \`tool_use_id\` found in \`tool_result\` blocks`
  }
  return new Set(answered).size < answered.length ? 'each tool_use must have a single result' : undefined
}

/** Checks that, with a budget for thinking, pending calls come with the thinking that led to them, unchanged. */
function thinkingFault({ messages, thinking }: MessagesRequestBody): string | undefined {
  const isThinking = ({ type }: Block) => type === 'thinking' || type === 'redacted_thinking'
  for (const [n, { role, content }] of messages.entries()) {
    const thoughts = content.filter(isThinking)
    if (role === 'user' && thoughts.length > 0)
      return `messages.${n}: thinking blocks may only be in assistant messages`
    if (thoughts.some(({ type, signature }) => type === 'thinking' && signature !== SIGNATURE)) {
      return `messages.${n}: Invalid \`signature\` in \`thinking\` block`
    }
  }
  if (thinking?.type !== 'enabled') return undefined
  for (let n = messages.length - 1; n > 0; n -= 2) {
    if (!messages[n]!.content.some(({ type }) => type === 'tool_result')) return undefined
    const first = messages[n - 1]!.content[0]!
    if (!isThinking(first)) {
      return `messages.${n - 1}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first.type}\`.`
    }
  }
  return undefined
}

type ImageBlock = { type: string; source?: { type: string; media_type: string; data: string } }

/** First characters of an image in base64. */
const BEGINS: Readonly<Record<string, string>> = {
  'image/png': 'iVBORw0KGgo',
  'image/jpeg': '/9j/',
  'image/webp': 'UklGR',
}

function imageFault(block: ImageBlock | undefined): string | undefined {
  if (block?.type !== 'image') return undefined
  const { type, media_type = '', data = '' } = block.source ?? {}
  if (type !== 'base64' || !(media_type in BEGINS)) return 'image.source.media_type: Input should be image/png'
  if (!data.startsWith(BEGINS[media_type]!)) return 'Could not process image'
  return data.length > 5 * 1024 * 1024 ? 'image exceeds 5 MB maximum' : undefined
}
