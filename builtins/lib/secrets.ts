import type { Ports } from '#kernel'

/** The sources of secrets; a plugin's handle has both. */
interface Holder {
  readonly ports: Pick<Ports, 'env'>
  readonly config: { secrets(): readonly string[] }
}

/** Returns a function that lists all secrets: those of the environment, and all that the configuration has had until then. */
export function secretsOf({ ports, config }: Holder): () => readonly string[] {
  const ofEnvironment = secretsIn(ports.env)
  return () => [...ofEnvironment, ...config.secrets()]
}

/** Returns a function that masks these values in JSON. */
export function secretMasker(holder: Holder): (json: string) => string {
  const secrets = secretsOf(holder)
  return json => maskJson(json, secrets())
}

/** Masks these values in a string. Longer ones go first: a shorter one may be their beginning, and would leave the rest. */
export function maskText(text: string, secrets: readonly string[]): string {
  return secrets
    .flatMap(formsOf)
    .sort((a, b) => b.length - a.length)
    .reduce((masked, secret) => masked.replaceAll(secret, '***'), text)
}

/** A value as it stands in a line of JSON. */
export function written(secret: string): string {
  return JSON.stringify(secret).slice(1, -1)
}

/** A secret as it is, and as it stands in a text that is JSON, or holds some: arguments of a call within a message. */
function formsOf(secret: string): string[] {
  const form = written(secret)
  return form === secret ? [secret] : [secret, form, written(form)]
}

/** Shorter values could not be told from other text. */
const SHORTEST_SECRET = 8

/** JSON without the values of these secrets in its texts. */
export function maskJson(json: string, secrets: readonly string[]): string {
  const inside = secrets.filter(
    secret => secret.length >= SHORTEST_SECRET && formsOf(secret).some(form => json.includes(written(form))),
  )
  if (inside.length === 0) return json
  const masked = (_: string, value: unknown) => (typeof value === 'string' ? maskText(value, inside) : value)
  return JSON.stringify(JSON.parse(json), masked)
}

/** Providers' keys are secrets wherever they come from. */
const SECRET_NAME = /(_API_KEY|_TOKEN|_SECRET|_PASSWORD)$/

/** The values in an environment that must show nowhere; too short ones are no secrets, and would mask half of the text. */
export function secretsIn(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    SECRET_NAME.test(name) && value && value.length >= SHORTEST_SECRET ? [value] : [],
  )
}
