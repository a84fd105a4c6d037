import type { GuardrailsConfig } from './config.ts'
import type { Action, GuardrailRule, Stage } from './contract.ts'
import { injectionFinders } from './injection/index.ts'
import { LinearPattern } from './linear/match.ts'
import { piiFinders } from './pii/index.ts'

/** Returns the configured rules in order of precedence. */
export function configuredRules(config: GuardrailsConfig, secrets: () => readonly string[]): GuardrailRule[] {
  const also = (stage: Stage & GuardrailsConfig['stages'][number]): Stage[] =>
    config.stages.includes(stage) ? [stage] : []
  const piiStages: Stage[] = ['output', ...also('tool_arguments'), ...also('memory')]
  const injectionStages: Stage[] = ['input', 'peer', ...also('tool_result'), ...also('memory')]
  const injectionAction = (flagOnly: boolean): Action => (flagOnly ? 'flag' : config.injection_action)
  return [
    ...(config.pii ? piiFinders(secrets) : []).map(finder => ({
      ...finder,
      stages: piiStages,
      action: config.pii_action,
    })),
    ...(config.prompt_injection ? injectionFinders() : []).map(({ flagOnly, ...finder }) => ({
      ...finder,
      stages: injectionStages,
      action: injectionAction(flagOnly),
    })),
    ...config.rules.map(({ name, kind, stages, action, pattern, ignore_case }) => {
      const linear = new LinearPattern(pattern, { ignoreCase: ignore_case })
      return { name, kind, stages, action, find: (text: string) => linear.find(text) }
    }),
  ]
}
