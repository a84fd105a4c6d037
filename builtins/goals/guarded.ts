import type { PluginHandle } from '#kernel'
import { Guardrails, type Stage, WITHHELD } from '../guardrails/contract.ts'
import { sanitize } from './prompt.ts'

/** What an agent reads in place of a message that a guardrail blocked. */
const BLOCKED = '[A message was withheld by a guardrail.]'

/** A nudge as the agent reads it: cleaned always, checked when guardrails are on. */
export function heard(svc: PluginHandle, agent_id: string, message: string): Promise<string> {
  return checked(svc, 'input', agent_id, sanitize(message), BLOCKED)
}

/** What an agent says it achieved, as people read it. */
export function told(svc: PluginHandle, agent_id: string, result: string): Promise<string> {
  return checked(svc, 'output', agent_id, result, WITHHELD)
}

async function checked(svc: PluginHandle, stage: Stage, agent_id: string, text: string, notice: string) {
  if (!svc.has(Guardrails)) return text
  const { action, text: clean } = await svc.use(Guardrails).check(stage, text, { agent_id })
  return action === 'block' ? notice : clean
}
