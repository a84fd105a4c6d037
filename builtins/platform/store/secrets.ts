import type { PluginHandle } from '#kernel'
import { maskJson, secretsOf } from '#lib/secrets'
import type { Statement } from './contract.ts'

/** Tables of history, which is shown, streamed and kept; nothing runs by it. */
const HISTORY = /^\s*(INSERT INTO|UPDATE) (events|tool_calls)\b/

/**
 * Takes the values of secrets, ours and those of providers, out of what is written of what happened.
 * @returns what does so with the secrets that there are when it is called; undefined while there are none
 */
export function statementMasker(svc: PluginHandle): () => ((statement: Statement) => Statement) | undefined {
  const known = secretsOf(svc)
  return () => {
    const secrets = known()
    if (secrets.length === 0) return undefined
    const mask = (value: unknown) => (typeof value === 'string' ? maskText(value, secrets) : value)
    return statement => {
      const { sql, params } = statement
      return params && HISTORY.test(sql) ? { sql, params: params.map(mask) } : statement
    }
  }
}

function maskText(text: string, secrets: readonly string[]): string {
  try {
    return maskJson(text, secrets)
  } catch {
    // Not JSON, such as the result of a tool.
    return JSON.parse(maskJson(JSON.stringify(text), secrets)) as string
  }
}
