import { isTree } from '#lib/tree'
import type { Message, ModelEvent, ModelRequest } from '../contract.ts'
import type { Dialect } from '../parameters/dialects.ts'

type Tree = Record<string, unknown>

/** Fields of an answer that a server may require back, in its own format. */
export interface Returned {
  reasoning_content?: string | null | undefined
  reasoning_details?: unknown[] | null | undefined
  thinking?: string | undefined
}

/**
 * Collects the fields that a server requires back with its answer: `reasoning_content` of DeepSeek and self-hosted
 * servers, `reasoning_details` of OpenRouter, the thinking in Mistral's content, and Gemini's `extra_content` of each
 * call, which holds a signature.
 */
export class ReturnedFields {
  #reasoning_content = ''
  readonly #reasoning_details: Tree[] = []
  #thinking = ''

  add({ reasoning_content, reasoning_details, thinking }: Returned): void {
    this.#reasoning_content += reasoning_content ?? ''
    this.#thinking += thinking ?? ''
    for (const detail of reasoning_details ?? []) if (isTree(detail)) this.#addDetail(detail)
  }

  /** @param extra_content the extra content of each call, in call order */
  events(extra_content: readonly unknown[]): ModelEvent[] {
    const fields = {
      ...(this.#reasoning_content ? { reasoning_content: this.#reasoning_content } : {}),
      ...(this.#reasoning_details.length > 0 ? { reasoning_details: this.#reasoning_details } : {}),
      ...(this.#thinking ? { thinking: this.#thinking } : {}),
      ...(extra_content.some(Boolean) ? { extra_content: extra_content.map(each => each ?? null) } : {}),
    }
    return Object.keys(fields).length > 0 ? [{ type: 'provider_data', fields }] : []
  }

  /** Adds a piece of a detail. Pieces with the same index and type belong together; their texts are concatenated. */
  #addDetail(piece: Tree): void {
    const last = this.#reasoning_details.at(-1)
    if (!last || last.index === undefined || last.index !== piece.index || last.type !== piece.type) {
      this.#reasoning_details.push({ ...piece })
      return
    }
    for (const [key, value] of Object.entries(piece)) {
      const isText = key === 'text' || key === 'summary' || key === 'data'
      if (value !== null) last[key] = isText && typeof last[key] === 'string' ? `${last[key]}${value}` : value
    }
  }
}

/** Stands for the signature of a call that another model made: https://ai.google.dev/gemini-api/docs/thought-signatures */
const UNSIGNED = { google: { thought_signature: 'skip_thought_signature_validator' } }

/** Returns the fields of an answer to send back to the server that requires them. */
export function parseReturned(
  { content, provider_data, tool_calls = [] }: Message,
  { model, omit }: Pick<ModelRequest, 'model' | 'omit'>,
  dialect: Dialect,
): { fields: Tree; content?: Tree[]; extras: readonly unknown[] } {
  const { thinking, extra_content, ...kept } = provider_data?.fields ?? {}
  // DeepSeek requires its own reasoning with each call. For calls of another model an empty one satisfies it.
  const missing = dialect === 'deepseek' && tool_calls.length > 0 ? { reasoning_content: '' } : {}
  const fields = Object.fromEntries(Object.entries({ ...missing, ...kept }).filter(([key]) => !omit?.has(key)))
  const isSigned = Array.isArray(extra_content) && extra_content.some(Boolean)
  const extras = isSigned ? extra_content : /gemini-3/.test(model) && dialect === 'gemini' ? [UNSIGNED] : []
  if (typeof thinking !== 'string') return { fields, extras }
  const thoughts = { type: 'thinking', thinking: [{ type: 'text', text: thinking }] }
  return { fields, extras, content: [thoughts, ...(content.trim() ? [{ type: 'text', text: content }] : [])] }
}
