import { errorMessage } from '#kernel'
import { RESULT_TOKENS } from './output-limit.ts'
import { beginningWithin } from './text-tokens.ts'

/** A tool's result that has no text, such as a map or a cyclic object. */
export class ResultTextError extends Error {
  override name = 'ResultTextError'

  constructor(problem: string) {
    super(`the tool returned a result that cannot be converted to text: ${problem}`)
  }
}

/**
 * Returns the text of a result for the model, truncated if it is too long.
 * @param limit in tokens
 * @throws ResultTextError
 */
export function resultText(result: unknown, limit = RESULT_TOKENS): string {
  const text = typeof result === 'string' ? result : result === undefined || result === null ? '' : jsonOf(result)
  const shown = beginningWithin(text, limit)
  if (shown.length === text.length) return text
  return `${shown}\n… ${text.length - shown.length} more characters were cut; ask for a smaller part.`
}

function jsonOf(result: unknown): string {
  refuseBytes(result)
  try {
    const text = JSON.stringify(result, (_, value: unknown) => {
      if (typeof value === 'bigint') return String(value)
      if (isHidden(value)) throw new ResultTextError(`it contains ${kindOf(value)}`)
      // In the object that holds them, because JSON converts a Buffer to numbers first, which takes seconds for a large one.
      if (typeof value === 'object' && value !== null) Object.values(value).forEach(refuseBytes)
      return value
    })
    return text ?? String(result)
  } catch (error) {
    if (error instanceof ResultTextError) throw error
    // The first line names the problem, such as a circular structure; further ones name JavaScript objects.
    const [problem] = errorMessage(error).split('\n')
    throw new ResultTextError(problem ?? '')
  }
}

function refuseBytes(value: unknown): void {
  if (ArrayBuffer.isView(value)) throw new ResultTextError(`it contains ${kindOf(value)}`)
}

/**
 * Returns whether JSON would reduce a value with content to `{}`, such as a stream, a map, or a promise that was not
 * awaited.
 */
function isHidden(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return kindOf(value) !== 'Object' && Object.keys(value).length === 0
}

/** Returns the type name of an object, such as `Map`, `AsyncGenerator` or `Response`. */
function kindOf(value: object): string {
  return Object.prototype.toString.call(value).slice(8, -1)
}
