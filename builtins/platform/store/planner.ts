import { type Effect, type PluginHandle, parse } from '#kernel'
import { type AppendedEvent, appendEvent, type EffectPlanner, Effects, isOptional, wakeAgents } from './contract.ts'
import { statementMasker } from './secrets.ts'
import { eventRow } from './statements.ts'

/** Turns effects into statements by their modules' definitions, and masks secrets in them. */
export function effectPlanner(svc: PluginHandle): EffectPlanner {
  const masking = statementMasker(svc)
  const announce = async (events: readonly Effect[]) => {
    for (const { payload } of events) {
      const { type, data } = payload as { type: never; data: never }
      if (svc.events.has(type)) await svc.emit(type, data)
    }
  }
  const plan: EffectPlanner['plan'] = (effects, now) => {
    const mask = masking()
    // Keeps only the first of a commit's events with the same condition, because the condition does not see the
    // commit's own writes.
    const conditions = new Set<string>()
    const isFirst = ({ unless }: AppendedEvent) => {
      const known = conditions.size
      return !unless || conditions.add(JSON.stringify(unless)).size > known
    }
    return effects.flatMap(each => {
      const { effect, payload } = each
      const kind = svc.find(Effects, effect)
      if (!kind && isOptional(each)) return []
      if (!kind) throw new Error(`no plugin defines the effect "${effect}"`)
      const parsed = parse(kind.schema, payload, `The effect ${effect}`) as never
      const events = (kind.events?.(parsed) ?? []).filter(isFirst).map(event => eventRow(event, now))
      const statements = [kind.statements(parsed, now)].flat()
      return {
        events: mask ? events.map(mask.event) : events,
        statements: mask ? statements.map(mask.statement) : statements,
        must: kind.mustChange ?? false,
        always: kind.always ?? false,
      }
    })
  }
  return {
    plan,
    planAlways: (effects, now) =>
      plan(
        effects.filter(({ effect }) => svc.find(Effects, effect)?.always),
        now,
      ),
    announce(effects, woken) {
      // The scheduler's loop does not wait for event listeners.
      if (effects.some(({ effect }) => effect === wakeAgents.kind.name)) woken()
      const events = effects.filter(isEvent)
      return events.length > 0 ? announce(events) : undefined
    },
  }
}

function isEvent({ effect }: Effect): boolean {
  return effect === appendEvent.kind.name
}
