import { z } from '#kernel'
import { pluralize } from '#lib/pluralize'

type RawIssue = z.core.$ZodRawIssue

/** Expected and actual types in words, by zod's type names. */
const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  bigint: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  tuple: 'an array',
  object: 'an object',
  record: 'an object',
  date: 'a date',
  null: 'null',
  nan: 'NaN',
  function: 'a function',
}
const FORMATS: Readonly<Record<string, string>> = {
  url: 'a URL',
  email: 'an email address',
  uuid: 'a UUID',
  datetime: 'a date and time such as 2026-11-26T09:00:00Z',
  date: 'a date such as 2026-11-26',
  time: 'a time such as 09:00:00',
  base64: 'base64',
  json_string: 'JSON',
}
const UNITS: Readonly<Record<string, [one: string, many?: string]>> = {
  string: ['character'],
  array: ['item'],
  set: ['item'],
  map: ['entry', 'entries'],
}

/**
 * Makes zod use this project's error messages for all checks in this process. Does nothing when another locale is
 * already configured.
 */
export function usePlainIssues(): void {
  const usual = z.config().localeError?.({ code: 'invalid_type', expected: 'string', input: undefined, path: [] })
  const message = typeof usual === 'object' ? usual?.message : usual
  if (message?.startsWith('Invalid input')) z.config({ localeError: plainMessage })
}

/** Returns the message for a value without its name: `is missing`, `must be a string, not a number`. */
export function plainMessage(issue: RawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return typeMessage(issue)
    case 'invalid_value': {
      const values = issue.values.map(String)
      const allowed = values.length === 1 ? `must be ${values[0]}` : `must be one of ${values.join(', ')}`
      return issue.input === undefined ? `is missing; it ${allowed}` : allowed
    }
    case 'too_small':
      return boundOf(issue, issue.inclusive === false ? 'more than' : 'at least', issue.minimum)
    case 'too_big':
      return boundOf(issue, issue.inclusive === false ? 'less than' : 'at most', issue.maximum)
    case 'invalid_format':
      return formatOf(issue)
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`
    case 'unrecognized_keys':
      return `has ${issue.keys.length > 1 ? 'unknown keys' : 'an unknown key'}: ${issue.keys.join(', ')}`
    case 'invalid_key':
      return 'has a key that is not allowed'
    case 'invalid_union':
      return unionOf(issue)
    default:
      return 'is not valid'
  }
}

function typeMessage({ expected, input }: Extract<RawIssue, { code: 'invalid_type' }>): string {
  if (input === undefined) return 'is missing'
  const isFraction = expected === 'int' && typeof input === 'number'
  if (typeof input === 'number' && !Number.isFinite(input)) return 'must be a finite number'
  return `must be ${typeNamed(expected)}${isFraction ? '' : `, not ${typeOf(input)}`}`
}

function typeNamed(name: string): string {
  return TYPES[name] ?? name
}

function typeOf(value: unknown): string {
  return typeof value === 'boolean' ? String(value) : typeNamed(z.core.util.parsedType(value))
}

function boundOf({ origin, exact }: { origin: string; exact?: boolean | undefined }, word: string, limit: unknown) {
  const unit = UNITS[origin]
  const bound = exact ? 'exactly' : word
  return unit ? `must have ${bound} ${pluralize(Number(limit), ...unit)}` : `must be ${bound} ${limit}`
}

function formatOf(issue: Extract<RawIssue, { code: 'invalid_format' }>): string {
  const { format, prefix, suffix, includes, pattern } = issue
  if (format === 'starts_with') return `must start with ${prefix}`
  if (format === 'ends_with') return `must end with ${suffix}`
  if (format === 'includes') return `must contain ${includes}`
  if (format === 'regex') return `must match the pattern ${pattern}`
  return `must be ${FORMATS[format] ?? `in the format ${format}`}`
}

/** Returns the message for a union: its types where only the type is wrong, else that no allowed form matches. */
function unionOf({ input, errors = [] }: Extract<RawIssue, { code: 'invalid_union' }>): string {
  if (input === undefined) return 'is missing'
  const first = errors.map(([issue]) => issue)
  const types = first.flatMap(issue =>
    issue?.code === 'invalid_type' && issue.path.length === 0 ? issue.expected : [],
  )
  if (types.length === 0 || types.length < first.length) return 'matches none of the allowed forms'
  return `must be ${[...new Set(types.map(typeNamed))].join(' or ')}, not ${typeOf(input)}`
}
