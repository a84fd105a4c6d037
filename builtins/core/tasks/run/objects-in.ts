import { isTooDeep } from '#core/runtime/contract'
import { isTree } from '#lib/tree'

type Json = Record<string, unknown>

/** More objects than this in one text are no answer. */
const MOST = 10

/**
 * The JSON objects in a model's text, in order: the text itself, or those with prose, a code fence or thoughts around them.
 * What was only thought (`<think>…</think>`) does not count. Linear in the length of the text.
 */
export function objectsIn(text: string): Json[] {
  const said = text.split('</think>').at(-1) ?? ''
  const whole = objectOf(said)
  if (whole) return [whole]
  const found: Json[] = []
  for (let at = said.indexOf('{'); at >= 0 && found.length < MOST; ) {
    const end = endOf(said, at)
    if (end < 0) break
    const object = objectOf(said.slice(at, end))
    if (object) found.push(object)
    at = said.indexOf('{', end)
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

/** The place after the brace that closes the one at `start`; braces in JSON strings do not count. */
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
