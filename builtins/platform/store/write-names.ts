import type { Effect } from '#kernel'

interface Kinds {
  text: string
  next: Map<string, Kinds>
  /** Names by the tool call to which the writes belong. */
  calls: Map<string, string>
}

/** Maximum number of cached names, because kinds of writes vary without limit. */
const KEPT = 2_000
const kindsOf = (text: string): Kinds => ({ text, next: new Map(), calls: new Map() })

/**
 * Names of writes for recording and replay: the kinds of their effects, and the tool call to which they belong. They
 * are cached to save a concatenation and a hash for each write.
 */
export class WriteNames {
  #root = kindsOf('write')
  #kept = 0

  of(effects: readonly Effect[]): string {
    if (this.#kept > KEPT) {
      this.#root = kindsOf('write')
      this.#kept = 0
    }
    let at = this.#root
    for (const { effect } of effects) {
      let next = at.next.get(effect)
      if (!next) {
        next = kindsOf(`${at.text}${at === this.#root ? ' ' : ','}${effect}`)
        at.next.set(effect, next)
        this.#kept++
      }
      at = next
    }
    const call = callOf(effects)
    if (call === undefined) return at.text
    let text = at.calls.get(call)
    if (text === undefined) {
      text = `${at.text} ${call}`
      at.calls.set(call, text)
      this.#kept++
    }
    return text
  }
}

/** Returns the last part of the tool call's id, if an effect has one. */
function callOf(effects: readonly Effect[]): string | undefined {
  for (const { payload } of effects) {
    const { call_id } = (payload ?? {}) as { call_id?: unknown }
    if (typeof call_id === 'string' && call_id.includes(':')) return call_id.slice(call_id.lastIndexOf(':') + 1)
  }
  return undefined
}
