import { z } from 'zod'

/** Kinds of what plugins give, each with how an error asks for it. */
const KINDS = {
  text: (field: string) => `${field}, a text`,
  number: (field: string) => `${field}, a number`,
  list: (field: string) => `${field}, a list`,
  schema: (field: string) => `${field}, a zod schema`,
  function: (field: string) => `${field}()`,
}

/** What something must have, each of its kind. */
export type Fields = Readonly<Record<string, keyof typeof KINDS>>

/** Looks at what a plugin adds to a place, before it is wrapped in anything. @throws TypeError that says what it lacks */
export function checkFields(place: string, has: Fields = {}, value: unknown, owner: string): void {
  const given = Object(value) as Record<string, unknown>
  const lacking = Object.entries(has).filter(([field, kind]) => !isOfKind(given[field], kind))
  if (lacking.length === 0) return
  const asked = lacking.map(([field, kind]) => KINDS[kind](field)).join('; ')
  throw new TypeError(`what "${owner}" adds to ${place} needs ${asked}`)
}

function isOfKind(value: unknown, kind: keyof typeof KINDS): boolean {
  if (kind === 'text') return typeof value === 'string' && value !== ''
  if (kind === 'list') return Array.isArray(value)
  if (kind === 'schema') return value instanceof z.ZodType
  return typeof value === kind
}

/** What a guard answered, at once where it does. @throws TypeError for what is no boolean */
export function verdictOf(name: string, answer: unknown): boolean | Promise<boolean> {
  if (typeof answer === 'boolean') return answer
  if (typeof Object(answer).then === 'function') return Promise.resolve(answer).then(given => verdictOf(name, given))
  throw new TypeError(`the guard "${name}" answered ${typeof answer}, not a boolean`)
}
