import type { Operation } from '#kernel'

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
