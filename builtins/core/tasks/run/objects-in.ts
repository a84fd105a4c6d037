import { isTooDeep } from '#core/runtime/contract'
import { isTree } from '#lib/tree'

type Json = Record<string, unknown>

/** Maximum number of objects in one text; more are no answer. */
const MAX_OBJECTS = 10

/**
 * Returns the JSON objects in a model's text, in order: the text itself, or those inside prose or a code fence. Ignores
 * reasoning (`<think>…</think>`). Linear in the length of the text.
 */
export function objectsIn(text: string): Json[] {
  const answer = text.split('</think>').at(-1) ?? ''
  const whole = objectOf(answer)
  if (whole) return [whole]
  const found: Json[] = []
  for (let at = answer.indexOf('{'); at >= 0 && found.length < MAX_OBJECTS; ) {
    const end = endOf(answer, at)
    if (end < 0) break
    const object = objectOf(answer.slice(at, end))
    if (object) found.push(object)
    at = answer.indexOf('{', end)
  }
  return found
}

function objectOf(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isTree(value) && !isTooDeep(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Returns the position after the brace that closes the one at `start`, ignoring braces in JSON strings. */
function endOf(text: string, start: number): number {
  let depth = 0
  let quoted = false
  for (let at = start; at < text.length; at++) {
    const sign = text[at]
    if (quoted) {
      if (sign === '\\') at++
      else if (sign === '"') quoted = false
    } else if (sign === '"') quoted = true
    else if (sign === '{') depth++
    else if (sign === '}' && --depth === 0) return at + 1
  }
  return -1
}
