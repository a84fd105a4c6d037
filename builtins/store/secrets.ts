import { maskJson, type PluginHandle, secretsIn } from '#kernel'
import type { Statement } from './contract.ts'

/** Rows that tell what happened: they are shown, streamed and kept. What runs does not come from them. */
const TOLD = /^\s*(INSERT INTO|UPDATE) (events|tool_calls)\b/

/** Takes the values of secrets, ours and those of providers, out of what is written of what happened. */
export function statementMasker(svc: PluginHandle): (statement: Statement) => Statement {
  const ofEnvironment = secretsIn(svc.ports.env)
  return statement => {
    if (!statement.params || !TOLD.test(statement.sql)) return statement
    const secrets = [...ofEnvironment, ...svc.config.secrets()]
    const mask = (value: unknown) => (typeof value === 'string' ? masked(value, secrets) : value)
    return { ...statement, params: statement.params.map(mask) }
  }
}

function masked(text: string, secrets: readonly string[]): string {
  if (secrets.length === 0) return text
  try {
    return maskJson(text, secrets)
  } catch {
    // Not JSON, such as what a tool answered.
    return JSON.parse(maskJson(JSON.stringify(text), secrets)) as string
  }
}
