import { isDeepStrictEqual } from 'node:util'
import type { ModelEvent, ModelRequest } from '#core/models/contract'
import { ToolCallReader } from '#core/models/repair/tool-call-reader'
import { z } from '#kernel'
import corpus from './broken-calls.json' with { type: 'json' }

export const { calls: BROKEN_CALLS, texts: CALLS_IN_TEXT } = corpus
export type BrokenCall = (typeof BROKEN_CALLS)[number]
export type CallInText = (typeof CALLS_IN_TEXT)[number]

/** Outcome of one case: read as meant, not read at all, or read as something else. */
export type Outcome = 'right' | 'refused' | 'wrong'

const TOOLS = Object.entries(corpus.tools).map(([name, parameters]) => ({ name, description: name, parameters }))
const CHECKS = new Map(TOOLS.map(({ name, parameters }) => [name, z.fromJSONSchema(parameters as never)]))

/** Reads the arguments of a call; undefined or an error refuses them. */
export type Reader = (raw: string, tool: string) => unknown

/** Reads a provider's stream as the models module does. */
export const ours: Reader = (raw, tool) => {
  const { calls } = collectAnswer([{ type: 'tool_call', id: '1', name: tool, arguments: raw }])
  return JSON.parse(calls[0]!.arguments)
}

/**
 * Returns the outcome of a reader for a case. Arguments that the tool's schema refuses never run, so they count as
 * refused.
 */
export function outcomeOf({ raw, tool, meant }: BrokenCall, reader: Reader): Outcome {
  const value = read(() => reader(raw, tool))
  if (value === undefined || !CHECKS.get(tool)!.safeParse(value).success) return 'refused'
  return meant !== 'unrecoverable' && isDeepStrictEqual(value, meant) ? 'right' : 'wrong'
}

/** Returns whether a case has a meaning at all. */
export const isRecoverable = ({ meant: expected }: BrokenCall) => expected !== 'unrecoverable'

/** Returns the outcome of a text that is streamed through the models module in small pieces. */
export function outcomeOfText({ text, calls: meant }: CallInText): Outcome & string {
  const { calls } = streamText(text)
  if (calls.length === 0 && meant.length > 0) return 'refused'
  const read = calls.map(({ name, arguments: args }) => ({ name, arguments: JSON.parse(args) as unknown }))
  return isDeepStrictEqual(read, meant) ? 'right' : 'wrong'
}

/** Streams a text through the models module in pieces of this size. */
export function streamText(text: string, size = 7) {
  const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, n) => text.slice(n * size, (n + 1) * size))
  return collectAnswer(pieces.map(piece => ({ type: 'text', text: piece })))
}

function collectAnswer(events: readonly ModelEvent[], more: Partial<ModelRequest> = {}) {
  const purpose = { agent_id: null, goal_id: null, cycle_num: 0, kind: 'other' } as const
  const request = { model: 'm', messages: [], tools: TOOLS, temperature: 0, max_tokens: 100, purpose, ...more }
  const reader = new ToolCallReader(request, 'either')
  const all = [...events, { type: 'done', finish_reason: 'stop' } as const].flatMap(event => [...reader.receive(event)])
  return {
    texts: all.flatMap(event => (event.type === 'text' ? event.text : [])),
    calls: all.flatMap(event => (event.type === 'tool_call' ? event : [])),
  }
}

function read(reader: () => unknown): unknown {
  try {
    return reader()
  } catch {
    return undefined
  }
}
