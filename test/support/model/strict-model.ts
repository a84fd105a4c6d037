import { ModelError, type ModelProvider, type ModelRequest, type SentMessage } from '#core/models/contract'
import { type Dialect, type ModelRequestBody, type Refusal, refusalOf } from './wire-rules.ts'

/** Strictness of an in-process model. */
export interface StrictOptions {
  /** Provider whose rules decide which requests are refused. Default: `common`. */
  dialect?: Dialect
  /** Called with each refusal, before the call fails with it. */
  onRefusal?: (refusal: Refusal) => void
}

/** Wraps a model of this process so that it refuses each request that a real provider would refuse. */
export function strictModel(
  provider: ModelProvider,
  { dialect = 'common', onRefusal }: StrictOptions = {},
): ModelProvider {
  const check = (request: ModelRequest) => {
    const refusal = refusalOf(chatBody(request), { dialect })
    if (!refusal) return
    onRefusal?.(refusal)
    const problem = `HTTP ${refusal.status}: ${refusal.message}`
    const facts = { kind: 'invalid_request' as const, transient: false, billed: false }
    throw Object.assign(new ModelError({ model: `${provider.name}:${request.model}`, problem }), facts)
  }
  const { complete } = provider
  return {
    ...provider,
    async *stream(request, signal) {
      check(request)
      yield* provider.stream(request, signal)
    },
    ...(complete
      ? {
          complete: async (request: ModelRequest, signal: AbortSignal) => {
            check(request)
            return complete(request, signal)
          },
        }
      : {}),
  }
}

/** Returns a request in the form of OpenAI's chat completions, as far as the rules read it. */
function chatBody({ model, messages, max_tokens }: ModelRequest): ModelRequestBody {
  return { model, messages: messages.map(chatMessage), max_tokens }
}

function chatMessage({ role, content, tool_calls = [], tool_call_id, images = [] }: SentMessage) {
  const calls = tool_calls.map(({ id, name, arguments: args }) => {
    return { id, type: 'function', function: { name, arguments: JSON.stringify(args) } }
  })
  return {
    role,
    content,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    ...(tool_call_id === undefined ? {} : { tool_call_id }),
    ...(images.length > 0
      ? { images: images.map(({ media_type, data = '' }) => `data:${media_type};base64,${data}`) }
      : {}),
  }
}
