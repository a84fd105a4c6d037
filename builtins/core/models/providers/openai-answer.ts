import type { Clock } from '#kernel'
import type { ModelEvent } from '../contract.ts'
import { ReturnedFields } from './openai-returned.ts'
import {
  Chunk,
  Completion,
  callsIn,
  charsOfCalls,
  doneEvent,
  reasoningEvents,
  ToolCallAssembly,
  usageEvents,
} from './openai-wire.ts'
import { EventData } from './sse.ts'

/**
 * Marker that a server sends after its last chunk. Data after it is read to keep the connection reusable, but ignored.
 */
const DONE = '[DONE]'

/** Returns a reader for one answer streamed as OpenAI chunks. */
export function chunks(clock: Pick<Clock, 'yield'>): EventData<ModelEvent> {
  const reading = new ChunkReading()
  return new EventData(clock, data => reading.read(data))
}

/** Converts a complete answer to events. @throws ZodError, or the error that the server reports instead */
export function eventsOfCompletion(raw: unknown): ModelEvent[] {
  refuseReported(raw as Reporting | null)
  const { choices, usage } = Completion.parse(raw)
  const { message, finish_reason } = choices[0]!
  const toolCalls = new ToolCallAssembly()
  toolCalls.add(callsIn(message).map((call, index) => ({ ...call, index })))
  const returned = new ReturnedFields()
  returned.add({ ...message, thinking: message.content?.thinking })
  return [
    ...reasoningEvents(message),
    { type: 'text', text: message.content?.text ?? message.refusal ?? '' },
    ...toolCalls.events(),
    ...returned.events(toolCalls.extras()),
    ...usageEvents(usage),
    doneEvent(finish_reason, Boolean(message.refusal)),
  ]
}

/**
 * Converts chunks of a stream to our events. Emits no `done` if the server sent neither a finish reason nor the end
 * marker.
 */
class ChunkReading {
  readonly #toolCalls = new ToolCallAssembly()
  readonly #returned = new ReturnedFields()
  #over = false
  #done = false
  #refused = false
  #hasContent = false

  /** @throws SyntaxError, ZodError, or the error that the server reports instead of a chunk */
  read(data: string): readonly ModelEvent[] {
    this.#over ||= data.startsWith(DONE)
    if (this.#over) return this.#hasContent ? this.#end(null) : []
    const raw = JSON.parse(data)
    refuseReported(raw)
    const word = wordIn(raw)
    this.#hasContent ||= Boolean(word)
    if (word !== undefined) return [{ type: 'text', text: word }]
    const { choices, usage } = Chunk.parse(raw)
    const [choice] = choices ?? []
    const delta = choice?.delta
    const calls = callsIn(delta)
    const text = delta?.content?.text ?? delta?.refusal ?? ''
    this.#toolCalls.add(calls)
    if (delta) this.#returned.add({ ...delta, thinking: delta.content?.thinking })
    this.#refused ||= Boolean(delta?.refusal)
    this.#hasContent ||= text !== '' || calls.length > 0
    // An empty text shows activity: a model that thinks or writes a long tool call is not idle.
    const events: ModelEvent[] = [
      ...reasoningEvents(delta),
      { type: 'text', text, chars: text.length + charsOfCalls(calls) },
    ]
    if (usage) events.push(...usageEvents(usage))
    if (choice?.finish_reason) events.push(...this.#end(choice.finish_reason))
    return events
  }

  #end(reason: string | null): ModelEvent[] {
    if (this.#done) return []
    this.#done = true
    return [
      ...this.#toolCalls.events(),
      ...this.#returned.events(this.#toolCalls.extras()),
      doneEvent(reason, this.#refused),
    ]
  }
}

/**
 * Returns the text of a chunk that contains only text, as nearly all do. Checking these with a schema would cost more
 * than all other work.
 */
function wordIn(raw: { choices?: unknown; usage?: unknown } | null): string | undefined {
  const { choices, usage } = raw ?? {}
  if (!Array.isArray(choices) || choices.length !== 1 || usage) return undefined
  const { delta, finish_reason } = choices[0] ?? {}
  const { content, role: _, ...others } = delta ?? {}
  const more = finish_reason || Object.values(others).some(Boolean)
  return typeof content === 'string' && !more ? content : undefined
}

/** Error fields that a server may send instead of an answer. */
interface Reporting {
  error?: unknown
  choices?: { error?: unknown }[] | null
}

/** @throws the error that a server reports instead of an answer, or in one of its choices */
function refuseReported(raw: Reporting | null): void {
  const error = raw?.error || raw?.choices?.[0]?.error
  if (error) throw reportedError(error)
}

/** Returns an error that a server reports in its answer, in the form that the `openai` package throws. */
export function reportedError(error: unknown): Error {
  const body: { message?: unknown; code?: unknown } =
    typeof error === 'object' && error !== null ? error : { message: error }
  const message = typeof body.message === 'string' ? body.message : JSON.stringify(body)
  return Object.assign(new Error(message), { error: body, code: body.code })
}
