import type { PluginHandle } from '#kernel'
import { secretMasker } from '#lib/secrets'

const HIDDEN = '***'

/** Names of fields that contain a secret: `api_key`, `accessToken`, `X-Svc-Key`, `client_secret`, `db_password`. */
const SECRET_FIELD =
  /(?:[a-z\d][_-]|[a-z\d](?=[A-Z]))(?:[kK]ey|KEY|[tT]oken|TOKEN)$|(?:secret|password|passwd|credentials?|authorization|cookie)s?$/i
/** Fields of svc that match the pattern but contain a name. */
const NAMES = new Set(['session_key', 'idempotency_key', 'memory_key'])
/** Random value; a plain `key` or `token` is a secret only when its value looks like this. */
const RANDOM = /^(?=.*\d)(?=.*[a-z])[\w.+/=~-]{16,}$/i

/** Patterns for secrets in running text, in headers and in truncated JSON, and for well-known formats of keys. */
const SPOKEN: readonly [RegExp, string][] = [
  [
    /((?:[_-]key|apikey|[_-]token|\btoken|secret|passw(?:or)?d|authorization|cookie)\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?(?:(?:bearer|basic)\s{1,3})?)[^\s"'\\,;&<>]{4,}/gi,
    `$1${HIDDEN}`,
  ],
  [/\b(?:sk|pk|rk|gsk|fw|xai)[-_][\w-]{16,}/g, HIDDEN],
  [/\b(?:ghp|gho|ghs|ghu|github_pat|glpat|xox[abprs])[-_][\w-]{12,}/g, HIDDEN],
  [/\bA(?:KIA|SIA)[A-Z0-9]{16}\b/g, HIDDEN],
  [/\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{4,}/g, HIDDEN],
  [/(\bbearer\s{1,3})[\w.+/=~-]{8,}/gi, `$1${HIDDEN}`],
  [/(:\/\/[^\s/:@]{1,100}:)[^\s/@]{1,200}@/g, `$1${HIDDEN}@`],
  [/-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]*(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?/g, HIDDEN],
]

/**
 * Returns a function that copies a value without secrets: known values, fields with a secret's name, and strings that
 * look like a secret.
 */
export function redactor(svc: PluginHandle): <T>(value: T) => T {
  const mask = secretMasker(svc)
  return <T>(value: T): T => withoutSecrets(JSON.parse(mask(JSON.stringify(value ?? null)))) as T
}

function withoutSecrets(value: unknown, field = ''): unknown {
  if (typeof value === 'string') {
    const bare = /^(?:key|token)$/i.test(field) && RANDOM.test(value)
    return value !== '' && (bare || isSecretField(field)) ? HIDDEN : redactSpoken(value)
  }
  if (Array.isArray(value)) return value.map(each => withoutSecrets(each, field))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withoutSecrets(each, name)]))
}

function isSecretField(name: string): boolean {
  return SECRET_FIELD.test(name) && !NAMES.has(name)
}

function redactSpoken(text: string): string {
  return SPOKEN.reduce((masked, [pattern, hidden]) => masked.replace(pattern, hidden), text)
}
