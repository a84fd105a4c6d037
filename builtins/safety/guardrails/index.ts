import { definePlugin } from '#kernel'
import { Metrics } from '#lib/metric'
import { ToolInterceptors } from '#tools/toolkits/contract'
import { GuardrailSettings, GuardrailsConfig } from './config.ts'
import { GuardrailHit, GuardrailRules, Guardrails } from './contract.ts'
import { guardrails, OwnGuardrails } from './guardrails.ts'
import { hits } from './hits.ts'
import { guardrailsCheck } from './operations.ts'
import { configuredRules } from './rules.ts'
import { ownSecrets } from './secrets.ts'
import { checkedToolCalls } from './tool-calls.ts'

export default definePlugin({
  name: 'guardrails',
  description:
    'Checks text for personal data, secrets and injected instructions, on input, between agents and on output.',
  needs: ['store'],
  section: 'guardrails',
  config: GuardrailsConfig,
  setup(svc, config) {
    const rules = configuredRules(config, ownSecrets(svc))
    for (const rule of rules) svc.add(GuardrailRules, rule)
    const service = guardrails(svc, config, rules)
    svc.provide(Guardrails, service)
    svc.add(ToolInterceptors, checkedToolCalls(service))
    svc.event('guardrail_hit', GuardrailHit)
    svc.add(Metrics, hits(svc))
    svc.provide(GuardrailSettings, config)
    svc.provide(OwnGuardrails, service)
    svc.operation(guardrailsCheck)
    // Building the lookup tables takes 200 ms, so it is done at the start and not in the first check.
    svc.start(async () => (config.enabled ? void (await service.warm()) : undefined), {
      in: ['daemon', 'server', 'mcp'],
    })
  },
})
