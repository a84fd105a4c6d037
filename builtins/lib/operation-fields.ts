import type { Operation } from '#kernel'
import { findNotJson, NOT_WRITABLE } from './not-json.ts'

/**
 * Checks that all fields used in a path or command exist in the operation's input.
 * @throws TypeError for a field that the input does not have
 */
export function requireFields({ name, input }: Operation, where: string, fields: readonly string[]): void {
  const unknown = fields.find(field => !Object.hasOwn(input.shape, field))
  if (unknown)
    throw new TypeError(
      `the ${where} of the operation "${name}" uses the field "${unknown}", which its input does not have`,
    )
}

/**
 * Checks that requests can contain the operation's input as JSON, and answers its output.
 * @throws TypeError for a field of another type
 */
export function requireJson({ name, input, output }: Operation): void {
  const field = findNotJson(input)
  if (field)
    throw new TypeError(
      `the field "${field.path}" of the operation "${name}" is a ${field.type}, which no request can contain as JSON: declare a string or a number, and convert it with .transform()`,
    )
  const lost = findNotJson(output, NOT_WRITABLE)
  if (lost)
    throw new TypeError(
      `the output of the operation "${name}"${lost.path && ` has the field "${lost.path}", which`} is a ${lost.type}; JSON has none: return a string, a number, a list or an object`,
    )
}
