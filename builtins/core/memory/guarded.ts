import type { PluginHandle } from '#kernel'
import { GuardrailBlockedError, Guardrails } from '#safety/guardrails/contract'

/** Returns a text as it may be stored after the guardrails' check. @throws GuardrailBlockedError */
export async function admit(svc: PluginHandle, agent_id: string, text: string): Promise<string> {
  const checked = await check(svc, agent_id, text)
  if (checked?.action !== 'block') return checked?.text ?? text
  const kinds = [...new Set(checked.findings.map(({ kind }) => kind))]
  throw new GuardrailBlockedError({ stage: 'memory', kinds })
}

/** Returns a memory as a prompt may contain it; undefined when it is blocked. Text in files was not always checked. */
export async function recallText(svc: PluginHandle, agent_id: string, text: string): Promise<string | undefined> {
  const checked = await check(svc, agent_id, text)
  return checked?.action === 'block' ? undefined : (checked?.text ?? text)
}

function check(svc: PluginHandle, agent_id: string, text: string) {
  const guardrails = svc.has(Guardrails) ? svc.use(Guardrails) : undefined
  return guardrails?.watches('memory') ? guardrails.check('memory', text, { agent_id }) : undefined
}
