import type { PluginDefinition, z } from '#kernel'
import { same } from '#lib/tree'
import { metaOf } from './config-keys.ts'
import type { ConfigCheck } from './contract.ts'

type ModuleNeeds = Pick<PluginDefinition, 'name' | 'needs'>

/**
 * Returns which plugins are off if these are disabled, by name. The value is `null` for a disabled plugin, else the
 * disabled plugin that it needs, directly or indirectly.
 */
export function pluginsOff(
  modules: readonly ModuleNeeds[],
  disabled: readonly string[],
): ReadonlyMap<string, string | null> {
  const off = new Map<string, string | null>(disabled.map(name => [name, null]))
  const isWithout = ({ name, needs = [] }: ModuleNeeds) => !off.has(name) && needs.some(need => off.has(need))
  for (let next = modules.find(isWithout); next; next = modules.find(isWithout))
    off.set(next.name, next.needs!.find(need => off.has(need))!)
  return off
}

/** Lists the disabled plugins; empty if there are none. */
export function describeOff(off: ReadonlyMap<string, string | null>): string {
  const disabled = [...off].filter(([, need]) => need === null).map(([name]) => name)
  const dependent = [...off].filter(([, need]) => need !== null).map(([name, need]) => `${name} (needs ${need})`)
  if (disabled.length === 0) return ''
  return `disabled: ${disabled.join(', ')}${dependent.length > 0 ? `; therefore also disabled: ${dependent.join(', ')}` : ''}`
}

/**
 * Refuses to start with a disabled module, or one whose dependency is disabled, while a configured key needs its
 * protection.
 */
export function disabledCheck(builtins: readonly PluginDefinition[]): ConfigCheck {
  return {
    name: 'plugins.disabled',
    forbids: 'start',
    check({ get, withPlace }) {
      const off = pluginsOff(builtins, get('plugins.disabled') as readonly string[])
      const issues = builtins.flatMap(builtin => {
        const need = off.get(builtin.name)
        if (need === undefined) return []
        const cause = need === null ? `remove "${builtin.name}" from the list` : `keep "${need}", which it needs`
        return protectingKeys(builtin)
          .filter(({ path, unset }) => !same(get(path), unset))
          .map(({ path, unset }) => {
            const state = `${withPlace(path)} is ${JSON.stringify(get(path))}`
            return `"${builtin.name}" cannot be disabled while ${state}; set that to ${JSON.stringify(unset)}, or ${cause}`
          })
      })
      return issues.map(message => ({ path: 'plugins.disabled', message }))
    },
  }
}

/** Returns the keys that configure a module's protection, each with the value that turns it off. */
function protectingKeys({ name, section = name, config }: PluginDefinition): { path: string; unset: unknown }[] {
  const keys = Object.entries((config?.shape ?? {}) as Record<string, z.ZodType>)
  return keys
    .filter(([, schema]) => metaOf(schema).protects)
    .map(([key, schema]) => ({ path: `${section}.${key}`, unset: schema.parse(undefined) }))
}
