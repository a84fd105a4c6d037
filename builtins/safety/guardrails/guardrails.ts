import { errorMessage, type PluginHandle, token } from '#kernel'
import { appendEvent, Store } from '#platform/store/contract'
import type { GuardrailsConfig } from './config.ts'
import { type CheckedText, type GuardrailRule, GuardrailRules, type Guardrails, type Stage } from './contract.ts'
import { scan } from './scan.ts'

/** The module's own, which also reports each finding. */
export const OwnGuardrails = token<ExaminingGuardrails>('guardrails/guardrails')

export interface ExaminingGuardrails extends Guardrails {
  /** What a check would give, enabled or not, without an event. All rules without a stage. */
  examine(text: string, stage?: Stage): Promise<CheckedText>
  /** Makes the first check as quick as the others. */
  warm(): Promise<void>
}

/** Any texts do, with letters beyond ASCII: what the rules look things up in is made for the first. */
const WARMING = ['Good morning, the report of 2026 is ready.', 'Good morning, 日本.']

/** The service: checks strings by the rules that are registered at that moment. @param own the rules of this module */
export function guardrails(
  svc: PluginHandle,
  config: GuardrailsConfig,
  own: readonly GuardrailRule[],
): ExaminingGuardrails {
  const stopsOnError = (rule: GuardrailRule, error: unknown) => {
    const closed = svc.config.get('daemon.guards_fail_closed') === true
    svc.log.error(
      {},
      `the guardrail rule "${rule.name}" failed and ${closed ? 'stops the text' : 'is passed over'}: ${errorMessage(error)}`,
    )
    return closed
  }
  const examine = (text: string, stage?: Stage) => {
    // Asked anew at each check: a plugin's rules come and go.
    const rules = svc.list(GuardrailRules).filter(rule => stage === undefined || rule.stages.includes(stage))
    return scan(text, rules, { clock: svc.clock, stopsOnError })
  }
  return {
    get enabled() {
      return config.enabled
    },
    watches: stage => config.enabled && svc.list(GuardrailRules).some(rule => rule.stages.includes(stage)),
    examine,
    async check(stage, text, { agent_id }) {
      if (!config.enabled) return { action: 'pass', text, findings: [] }
      const checked = await examine(text, stage)
      if (checked.action !== 'pass') await reportFindings(svc, stage, agent_id, checked)
      return checked
    },
    async warm() {
      for (const text of WARMING) await scan(text, own, { clock: svc.clock, stopsOnError })
    },
  }
}

/** Reports a find without the text, which must not be in the event log either. A failed report must not let the text pass. */
async function reportFindings(
  svc: PluginHandle,
  stage: Stage,
  agent_id: string | null,
  { action, findings }: CheckedText,
): Promise<void> {
  const kinds = [...new Set(findings.map(finding => finding.kind))]
  const rules = [...new Set(findings.map(finding => finding.rule))]
  svc.log.info({ agent_id }, `guardrail: ${action} at ${stage}, ${kinds.join(', ')} (${rules.join(', ')})`)
  try {
    const data = { agent_id, stage, action, kinds, rules }
    await svc.use(Store).apply([appendEvent({ type: 'guardrail_hit', agent_id, data })])
  } catch (error) {
    svc.log.error({ agent_id }, `a guardrail's hit could not be written down: ${errorMessage(error)}`)
  }
}
