import { type PluginHandle, parse } from '#kernel'
import { appendEvent, type EffectPlanner, Effects, wakeAgents } from './contract.ts'
import { statementMasker } from './secrets.ts'

/** Turns effects into statements by what their rooms said of them, without the secrets that they may hold. */
export function effectPlanner(svc: PluginHandle): EffectPlanner {
  const mask = statementMasker(svc)
  return {
    plan: (effects, now) =>
      effects.map(({ effect, payload }) => {
        const kind = svc.find(Effects, effect)
        if (!kind) throw new Error(`no plugin knows the effect "${effect}"`)
        const parsed = parse(kind.schema, payload, `The effect ${effect}`)
        return {
          statements: kind.statements(parsed as never, now).map(mask),
          must: kind.mustChange ?? false,
          always: kind.always ?? false,
        }
      }),
    async tell(effects, woken) {
      // Who is to look need not wait for those who listen.
      if (effects.some(({ effect }) => effect === wakeAgents.kind.name)) woken()
      for (const { effect, payload } of effects) {
        if (effect !== appendEvent.kind.name) continue
        const { type, data } = payload as { type: never; data: never }
        if (svc.events.has(type)) await svc.emit(type, data)
      }
    },
  }
}
