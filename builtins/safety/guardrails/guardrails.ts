import { errorMessage, type PluginHandle, token } from '#kernel'
import { appendEvent, Store } from '#platform/store/contract'
import type { GuardrailsConfig } from './config.ts'
import { type CheckedText, type GuardrailRule, GuardrailRules, type Guardrails, type Stage } from './contract.ts'
import { scan } from './scan.ts'

/** Service within the module, which can also check without events. */
export const OwnGuardrails = token<ExaminingGuardrails>('guardrails/guardrails')

export interface ExaminingGuardrails extends Guardrails {
  /**
   * Returns the result of a check without an event, also while guardrails are disabled. Without a stage all rules
   * apply.
   */
  examine(text: string, stage?: Stage): Promise<CheckedText>
  /** Compiles the rules, so that the first check is as fast as later ones. */
  warm(): Promise<void>
}

/** Sample strings, with non-ASCII letters, that fill the lookup tables. */
const WARMING = ['Good morning, the report of 2026 is ready.', 'Good morning, 日本.']

/** Creates the service, which checks strings by the currently registered rules. @param own rules of this module */
export function guardrails(
  svc: PluginHandle,
  config: GuardrailsConfig,
  own: readonly GuardrailRule[],
): ExaminingGuardrails {
  const stopsOnError = (rule: GuardrailRule, error: unknown) => {
    const closed = svc.config.get('daemon.guards_fail_closed') === true
    svc.log.error(
      {},
      `the guardrail rule "${rule.name}" failed and ${closed ? 'blocks the text' : 'is skipped'}: ${errorMessage(error)}`,
    )
    return closed
  }
  const examine = (text: string, stage?: Stage) => {
    // Read at each check, because plugins add and remove rules.
    const rules = svc.list(GuardrailRules).filter(rule => stage === undefined || rule.stages.includes(stage))
    return scan(text, rules, { clock: svc.clock, stopsOnError })
  }
  return {
    get enabled() {
      return config.enabled
    },
    watches: stage => config.enabled && svc.list(GuardrailRules).some(rule => rule.stages.includes(stage)),
    examine,
    async check(stage, text, { agent_id, again = false }) {
      if (!config.enabled) return { action: 'pass', text, findings: [] }
      const checked = await examine(text, stage)
      if (checked.action !== 'pass' && !again) await reportFindings(svc, stage, agent_id, checked)
      return checked
    },
    async warm() {
      for (const text of WARMING) await scan(text, own, { clock: svc.clock, stopsOnError })
    },
  }
}

/**
 * Reports findings without the text, which must not appear in the event log. If reporting fails, the text is not passed
 * on.
 */
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
    svc.log.error({ agent_id }, `a guardrail finding could not be recorded: ${errorMessage(error)}`)
  }
}
