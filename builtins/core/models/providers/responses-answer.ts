import { type Clock, z } from '#kernel'
import type { ModelEvent } from '../contract.ts'
import { reportedError } from './openai-answer.ts'
import type { Kept } from './responses-request.ts'
import { EventData } from './sse.ts'

const Part = z.object({ type: z.string(), text: z.string().nullish(), refusal: z.string().nullish() })

/** The used fields of one item of an answer: a message, a call or reasoning. */
const Item = z.object({
  type: z.string(),
  content: z.array(Part).nullish(),
  phase: z.string().nullish().catch(undefined),
  call_id: z.string().nullish(),
  name: z.string().nullish(),
  arguments: z.string().nullish(),
  summary: z.array(Part).nullish(),
  encrypted_content: z.string().nullish(),
})
type Item = z.infer<typeof Item>

const Answer = z.object({
  status: z.string().nullish(),
  output: z.array(Item).nullish(),
  incomplete_details: z.object({ reason: z.string().nullish() }).nullish(),
  error: z.unknown().optional(),
  usage: z.unknown().optional(),
})

const StreamEvent = z.object({
  type: z.string(),
  delta: z.string().nullish().catch(undefined),
  item: Item.nullish().catch(undefined),
  summary_index: z.number().nullish(),
  response: z.unknown().optional(),
})

/** Returns a reader for one streamed answer of the Responses API. */
export function responseStream(clock: Pick<Clock, 'yield'>): EventData<ModelEvent> {
  const reading = new ResponseReading()
  return new EventData(clock, data => reading.read(data))
}

/**
 * Converts the events of a stream to ours. Emits no `done` if the stream ends before the answer. Source:
 * https://platform.openai.com/docs/api-reference/responses-streaming
 */
class ResponseReading {
  readonly #items: Item[] = []
  #hasText = false

  /** @throws SyntaxError, ZodError, or the error that the server reports */
  read(data: string): readonly ModelEvent[] {
    const raw = JSON.parse(data)
    if (raw?.type === 'error') throw reportedError(raw.error ?? raw)
    const { type, delta, item, summary_index, response } = StreamEvent.parse(raw)
    switch (type) {
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        this.#hasText ||= Boolean(delta)
        return [{ type: 'text', text: delta ?? '' }]
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return [{ type: 'reasoning', text: delta ?? '' }]
      case 'response.reasoning_summary_part.added':
        return [{ type: 'reasoning', text: summary_index ? '\n\n' : '' }]
      case 'response.output_item.added':
        return [{ type: item?.type === 'reasoning' ? 'reasoning' : 'text', text: '' }]
      case 'response.function_call_arguments.delta':
        return [{ type: 'text', text: '', chars: delta?.length ?? 0 }]
      case 'response.output_item.done':
        if (item) this.#items.push(item)
        return []
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        return this.#end(response)
      default:
        return []
    }
  }

  #end(response: unknown): ModelEvent[] {
    const answer = answerIn(response)
    const items = this.#items.length > 0 ? this.#items : (answer.output ?? [])
    const text = this.#hasText ? [] : [{ type: 'text' as const, text: textOf(items) }]
    return [...text, ...endOf(items, answer)]
  }
}

/** Converts a complete answer to events. @throws ZodError, or the error that the server reports */
export function eventsOfResponse(raw: unknown): ModelEvent[] {
  const answer = answerIn(raw)
  const items = answer.output ?? []
  const thought = items.flatMap(({ type, summary }) => (type === 'reasoning' ? (summary ?? []) : []))
  return [
    ...(thought.length > 0
      ? [{ type: 'reasoning' as const, text: thought.map(({ text }) => text ?? '').join('\n\n') }]
      : []),
    { type: 'text', text: textOf(items) },
    ...endOf(items, answer),
  ]
}

function answerIn(raw: unknown): z.infer<typeof Answer> {
  const answer = Answer.parse(raw)
  if (answer.error || answer.status === 'failed') throw reportedError(answer.error ?? 'the response failed')
  return answer
}

/** Returns the text of an answer, or its refusal. */
function textOf(items: readonly Item[]): string {
  return messagePartsIn(items)
    .map(({ text, refusal }) => text ?? refusal ?? '')
    .join('')
}

function messagePartsIn(items: readonly Item[]) {
  return items.flatMap(({ type, content }) => (type === 'message' ? (content ?? []) : []))
}

/** Returns the events that follow the text of an answer. */
function endOf(items: readonly Item[], { usage, incomplete_details }: z.infer<typeof Answer>): ModelEvent[] {
  const calls = items.filter(({ type }) => type === 'function_call')
  const kept = keptOf(items)
  const isRefused = messagePartsIn(items).some(({ type }) => type === 'refusal')
  return [
    ...calls.map(({ call_id, name, arguments: args }) => {
      return { type: 'tool_call' as const, id: call_id ?? '', name: name ?? '', arguments: args ?? '' }
    }),
    ...(Object.keys(kept).length > 0 ? [{ type: 'provider_data' as const, fields: { ...kept } }] : []),
    ...usageEvents(usage),
    { type: 'done', finish_reason: finishReason(incomplete_details?.reason, isRefused, calls.length > 0) },
  ]
}

function finishReason(incomplete: string | null | undefined, isRefused: boolean, hasCalls: boolean) {
  if (isRefused || incomplete === 'content_filter') return 'content_filter' as const
  if (incomplete) return 'length' as const
  return hasCalls ? ('tool_calls' as const) : ('stop' as const)
}

/**
 * Returns what the server wants back. Ids are left out: without stored answers they refer to nothing, and the encrypted
 * content is complete.
 */
function keptOf(items: readonly Item[]): Kept {
  const reasoning: NonNullable<Kept['reasoning']> = []
  let after = 0
  let phase: string | undefined
  let hasText = false
  for (const { type, encrypted_content, summary, phase: labelled } of items) {
    if (type === 'reasoning') {
      if (encrypted_content) reasoning.push({ after, item: { type, summary: summary ?? [], encrypted_content } })
      continue
    }
    // All messages become one.
    if (type !== 'message' || !hasText) after++
    hasText ||= type === 'message'
    phase = labelled ?? phase
  }
  return { ...(reasoning.length > 0 ? { reasoning } : {}), ...(phase ? { phase: phase as Kept['phase'] } : {}) }
}

const Count = z.number().nullish()
const WireUsage = z.object({
  input_tokens: z.number(),
  output_tokens: z.number(),
  input_tokens_details: z.object({ cached_tokens: Count, cache_write_tokens: Count }).nullish().catch(undefined),
})

function usageEvents(raw: unknown): ModelEvent[] {
  const wire = WireUsage.safeParse(raw).data
  if (!wire) return []
  const { input_tokens, output_tokens, input_tokens_details } = wire
  const { cached_tokens, cache_write_tokens } = input_tokens_details ?? {}
  const parts = { ...(cached_tokens ? { cached_tokens } : {}), ...(cache_write_tokens ? { cache_write_tokens } : {}) }
  return [{ type: 'usage', usage: { input_tokens, output_tokens, ...parts } }]
}
