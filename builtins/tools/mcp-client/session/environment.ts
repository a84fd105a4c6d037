import { maskText } from '#lib/secrets'
import type { McpServerSettings } from '../config.ts'

type Env = Readonly<Record<string, string | undefined>>

/**
 * Variables that a program needs to run as the operator: program and home folders, language and time zone. Other
 * variables are passed on only if the settings name them.
 */
const HANDED_ON = /^(PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|LANG|LANGUAGE|LC_[A-Z]+|TZ)$/
const PATH = '/usr/local/bin:/usr/bin:/bin'
/** Shorter values could not be distinguished from other text. */
const SHORTEST_SECRET = 6

/** Returns the environment variables of a server's process. */
export function environmentOf({ env, pass_env }: McpServerSettings, own: Env): Record<string, string> {
  const kept = Object.entries(own).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && (HANDED_ON.test(entry[0]) || pass_env.includes(entry[0])),
  )
  return { PATH, TERM: 'dumb', NO_COLOR: '1', ...Object.fromEntries(kept), ...env }
}

/**
 * Returns the headers of a server's requests.
 * @throws when a variable is not set
 */
export function headersOf({ headers_env }: McpServerSettings, own: Env): Record<string, string> {
  const headers = Object.entries(headers_env).map(([header, variable]) => {
    const value = own[variable]?.trim()
    if (!value) throw new Error(`the environment variable ${variable} for the header ${header} is not set`)
    const isToken = header.toLowerCase() === 'authorization' && !value.includes(' ')
    return [header, isToken ? `Bearer ${value}` : value]
  })
  return Object.fromEntries(headers) as Record<string, string>
}

/** Returns a function that masks the values of variables that are passed to the server by name. */
export function redactorFor({ pass_env, headers_env }: McpServerSettings, own: Env): (text: string) => string {
  const values = [...pass_env, ...Object.values(headers_env)].map(variable => own[variable]?.trim() ?? '')
  const secrets = values.filter(value => value.length >= SHORTEST_SECRET)
  return text => maskText(text, secrets)
}
