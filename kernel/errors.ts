const BRAND = Symbol.for('svc.error')

/** One error in some input: its path (`daemon.heartbeat`, `body.preset`) and what is wrong there. */
export interface Issue {
  path: string
  message: string
}

export interface SvcErrorOptions {
  /** Stable snake_case name of the error, part of the wire contract. */
  code: string
  /** HTTP status of the answer. */
  status: number
  /** Exit code of the command line. */
  exit?: number
  /** Short title, the same for every error of this code. */
  title?: string
  errors?: readonly Issue[]
  /** Seconds after which a retry makes sense. */
  retryAfter?: number
  cause?: unknown
}

/** The base of all errors that a user may see. `message` says what was wrong and what would be right. */
export class SvcError extends Error {
  readonly code: string
  readonly status: number
  readonly exit: number
  readonly title: string
  readonly errors: readonly Issue[]
  readonly retryAfter: number | undefined

  constructor(message: string, options: SvcErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = options.code
    this.status = options.status
    this.exit = options.exit ?? 1
    this.title = options.title ?? options.code.replaceAll('_', ' ')
    this.errors = options.errors ?? []
    this.retryAfter = options.retryAfter
    Object.defineProperty(this, BRAND, { value: true })
  }
}

// A plugin may bundle its own copy of this class, so instanceof checks the brand and not the prototype.
Object.defineProperty(SvcError, Symbol.hasInstance, {
  value(this: unknown, value: unknown): boolean {
    if (this === SvcError) return typeof value === 'object' && value !== null && BRAND in value
    return Function.prototype[Symbol.hasInstance].call(this as () => void, value)
  },
})

export type ErrorDefinition<P> = {
  code: string
  /** Name of the class, where that does not follow from the code. */
  name?: string
  status: number
  exit?: number
  title: string
} & MessageDefinition<P>
/** Returns the message for the parameters. `sentence` is its earlier name, which is accepted for one version. */
type MessageDefinition<P> = { message: (params: P) => string } | { sentence: (params: P) => string }

export interface ErrorClass<P> {
  new (params: P, options?: { errors?: readonly Issue[]; retryAfter?: number; cause?: unknown }): SvcError
  readonly code: string
  readonly status: number
  readonly title: string
}

const catalogue = new Map<string, { code: string; status: number; exit: number; title: string }>()

/** Returns every defined error, sorted by code. Tests compare it with the reference page, the types and OpenAPI. */
export function errorCatalogue() {
  return [...catalogue.values()].sort((a, b) => a.code.localeCompare(b.code))
}

/**
 * Defines one typed error: its code, HTTP status, exit code (1 by default) and message, for every interface.
 * @example export const AgentNotFoundError = defineError({ code: 'agent_not_found', status: 404, title: 'Agent not found', message: (p: { ref: string }) => `No agent is called "${p.ref}".` })
 */
export function defineError<P = void>(definition: ErrorDefinition<P>): ErrorClass<P> {
  const { code, status, title } = definition
  catalogue.set(code, { code, status, exit: definition.exit ?? 1, title })
  const { name = classNameOf(code) } = definition
  const message = 'message' in definition ? definition.message : definition.sentence
  const DefinedError = class extends SvcError {
    static readonly code = code
    static readonly status = status
    static readonly title = title
    constructor(params: P, options: { errors?: readonly Issue[]; retryAfter?: number; cause?: unknown } = {}) {
      super(trimFullStop(message(params)), { ...definition, ...options })
      this.name = name
    }
  }
  Object.defineProperty(DefinedError, 'name', { value: name })
  return DefinedError
}

/** Removes the final full stop after another end mark, as where the message ends with an inserted one. */
function trimFullStop(message: string): string {
  return message.replace(/(?<!\.)([.?!])\.$/, '$1')
}

/** Returns the class name of a code: `AgentNotFoundError` for `agent_not_found`. */
function classNameOf(code: string): string {
  const stem = code.replace(/_error$/, '')
  return `${stem.replace(/(^|_)(\w)/g, (_, _separator, letter: string) => letter.toUpperCase())}Error`
}

export const InvalidInputError = defineError({
  code: 'invalid_input',
  status: 422,
  exit: 2,
  title: 'Invalid input',
  message: (p: { what: string; issues: readonly Issue[] }) => `${p.what} is not valid: ${describeIssues(p.issues)}.`,
})
/** The request conflicts with the present state, as when a name is taken; the message says with what. */
export const ConflictError = defineError({
  code: 'conflict',
  status: 409,
  title: 'Conflict',
  // `sentence` is the earlier name of the parameter, which is accepted for one version.
  message: (p: { message: string } | { sentence: string }) => ('message' in p ? p.message : p.sentence),
})
export const ScopeClosedError = defineError({
  code: 'scope_closed',
  status: 409,
  title: 'Scope closed',
  message: (p: { owner: string; label: string }) => `Plugin "${p.owner}" was removed and cannot register ${p.label}.`,
})
export const TimeLimitError = defineError({
  code: 'time_limit',
  status: 504,
  title: 'Time limit exceeded',
  message: (p: { what: string; ms: number }) => `${p.what} did not finish within ${p.ms / 1000} s.`,
})

/** Maximum number of issues in one message; the input may have any number. */
const MOST_ISSUES = 20

/** Joins issues to one line, each with its path. */
export function describeIssues(issues: readonly Issue[]): string {
  const listed = issues.slice(0, MOST_ISSUES).map(({ path, message }) => (path ? `${cut(path)}: ${message}` : message))
  return [...listed, ...(issues.length > MOST_ISSUES ? [`and ${issues.length - MOST_ISSUES} more`] : [])].join('; ')
}

/** Cuts a path from outside to the length that fits a message. */
function cut(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}

/** Returns the message of anything that was thrown, which need not be an Error. */
export function errorMessage(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error)
  try {
    const { message } = error as { message?: unknown }
    return typeof message === 'string' ? message : JSON.stringify(error)
  } catch {
    return 'a value that cannot be read'
  }
}
