import type { PluginHandle } from '#kernel'
import { maskJson, secretsOf } from '#lib/secrets'
import type { Statement } from './contract.ts'

/** Matches writes to history, which is shown, streamed and stored like events, but never executed. */
const HISTORY = /^\s*(INSERT INTO|UPDATE) tool_calls\b/

interface StatementMask {
  statement: (statement: Statement) => Statement
  event: (row: Statement) => Statement
}

/**
 * Masks secrets of the project and of providers in writes to history. @returns a function that returns the mask for the
 * current secrets, or undefined if there are none
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
    // Not JSON, such as a tool's result.
    return JSON.parse(maskJson(JSON.stringify(text), secrets)) as string
  }
}
