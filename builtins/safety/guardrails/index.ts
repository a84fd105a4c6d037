import { definePlugin } from '#kernel'
import { Metrics } from '#lib/metric'
import { GuardrailSettings, GuardrailsConfig } from './config.ts'
import { GuardrailHit, GuardrailRules, Guardrails } from './contract.ts'
import { guardrails, OwnGuardrails } from './guardrails.ts'
import { hits } from './hits.ts'
import { guardrailsCheck } from './operations.ts'
import { configuredRules } from './rules.ts'
import { ownSecrets } from './secrets.ts'

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
    svc.event('guardrail_hit', GuardrailHit)
    svc.add(Metrics, hits(svc))
    svc.provide(GuardrailSettings, config)
    svc.provide(OwnGuardrails, service)
    svc.operation(guardrailsCheck)
    // What the rules look things up in takes a fifth of a second to make: better now than in a check.
    svc.start(async () => (config.enabled ? void (await service.warm()) : undefined), {
      in: ['daemon', 'server', 'mcp'],
    })
  },
})
