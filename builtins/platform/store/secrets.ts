import type { PluginHandle } from '#kernel'
import { maskJson, secretsOf } from '#lib/secrets'
import type { Statement } from './contract.ts'

/** A table of history, as events are, which is shown, streamed and kept; nothing runs by it. */
const HISTORY = /^\s*(INSERT INTO|UPDATE) tool_calls\b/

interface StatementMask {
  statement: (statement: Statement) => Statement
  event: (row: Statement) => Statement
}

/**
 * Takes the values of secrets, ours and those of providers, out of what is written of what happened.
 * @returns what does so with the secrets that there are when it is called; undefined while there are none
 */
export function statementMasker(svc: PluginHandle): () => StatementMask | undefined {
  const known = secretsOf(svc)
  return () => {
    const secrets = known()
    if (secrets.length === 0) return undefined
    const mask = (value: unknown) => (typeof value === 'string' ? maskText(value, secrets) : value)
    const event = ({ sql, params = [] }: Statement) => ({ sql, params: params.map(mask) })
    return { event, statement: each => (HISTORY.test(each.sql) ? event(each) : each) }
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
