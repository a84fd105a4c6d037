import type { Ports } from '#kernel'

/** Sources of secrets; a plugin's handle has both. */
interface Holder {
  readonly ports: Pick<Ports, 'env'>
  readonly config: { secrets(): readonly string[] }
}

/**
 * Returns a function that lists all secrets: those of the environment, and all that the configuration has contained so
 * far.
 */
export function secretsOf({ ports, config }: Holder): () => readonly string[] {
  const ofEnvironment = secretsIn(ports.env)
  return () => [...ofEnvironment, ...config.secrets()]
}

/** Returns a function that masks all secrets in JSON. */
export function secretMasker(holder: Holder): (json: string) => string {
  const secrets = secretsOf(holder)
  return json => maskJson(json, secrets())
}

/**
 * Masks secrets in a string. Longer ones are replaced first: a shorter one may be their prefix, and would leave the
 * rest visible.
 */
export function maskText(text: string, secrets: readonly string[]): string {
  return secrets
    .flatMap(formsOf)
    .sort((a, b) => b.length - a.length)
    .reduce((masked, secret) => masked.replaceAll(secret, '***'), text)
}

/** Returns a string escaped for JSON, without the quotes. */
export function escapeForJson(secret: string): string {
  return JSON.stringify(secret).slice(1, -1)
}

/** Returns a secret as it is, and JSON-escaped once and twice, as for the arguments of a call within a message. */
function formsOf(secret: string): string[] {
  const form = escapeForJson(secret)
  return form === secret ? [secret] : [secret, form, escapeForJson(form)]
}

/** Minimum length of a secret; shorter values are too common in other text. */
export const SHORTEST_SECRET = 8

/** Masks these secrets in the strings of JSON. */
export function maskJson(json: string, secrets: readonly string[]): string {
  const inside = secrets.filter(
    secret => secret.length >= SHORTEST_SECRET && formsOf(secret).some(form => json.includes(escapeForJson(form))),
  )
  if (inside.length === 0) return json
  const maskValue = (_: string, value: unknown) => (typeof value === 'string' ? maskText(value, inside) : value)
  return JSON.stringify(JSON.parse(json), maskValue)
}

/** Names of environment variables whose values are secrets. */
const SECRET_NAME = /(_API_KEY|_TOKEN|_SECRET|_PASSWORD)$/

/** Returns the secrets in an environment. Too short values are left out, as they would mask other text. */
export function secretsIn(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(env).flatMap(([name, value = '']) =>
    // A value that was read from a file may end in a line break, which is not sent.
    SECRET_NAME.test(name) && value.trim().length >= SHORTEST_SECRET ? [value.trim()] : [],
  )
}
