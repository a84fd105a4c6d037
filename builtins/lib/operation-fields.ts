import type { Operation } from '#kernel'

/** @throws TypeError when a place, such as a path, has a field that the operation's input does not */
export function requireFields({ name, input }: Operation, where: string, fields: readonly string[]): void {
  const unknown = fields.find(field => !Object.hasOwn(input.shape, field))
  if (unknown) throw new TypeError(`the ${where} of the operation "${name}" has "${unknown}", but its input does not`)
}
