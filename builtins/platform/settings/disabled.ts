import type { PluginDefinition, z } from '#kernel'
import { same } from '#lib/tree'
import { metaOf } from './config-keys.ts'
import type { ConfigCheck } from './contract.ts'

/** Most modules that a message lists. */
const MAX_NAMES = 5

/** Checks that `plugins.disabled` names no module that others need, or by which the configuration protects. */
export function disabledCheck(builtins: readonly PluginDefinition[]): ConfigCheck {
  return {
    name: 'plugins.disabled',
    forbids: 'start',
    check({ get, withPlace }) {
      const disabled = get('plugins.disabled') as readonly string[]
      const [off, on] = [true, false].map(is => builtins.filter(({ name }) => disabled.includes(name) === is))
      const issues = off!.flatMap(builtin => {
        const { name } = builtin
        const dependents = on!.filter(({ needs = [] }) => needs.includes(name)).map(other => other.name)
        const needed = `"${name}" cannot be disabled: ${listNames(dependents)} need it; disable those too, or remove "${name}" from the list`
        return [
          ...(dependents.length > 0 ? [needed] : []),
          ...protectingKeys(builtin)
            .filter(({ path, unset }) => !same(get(path), unset))
            .map(({ path, unset }) => {
              const state = `${withPlace(path)} is ${JSON.stringify(get(path))}`
              return `"${name}" cannot be disabled while ${state}; set that to ${JSON.stringify(unset)}, or remove "${name}" from the list`
            }),
        ]
      })
      return issues.map(message => ({ path: 'plugins.disabled', message }))
    },
  }
}

/** The keys of a module that ask for its protection, with the value at which they do not. */
function protectingKeys({ name, section = name, config }: PluginDefinition): { path: string; unset: unknown }[] {
  const keys = Object.entries((config?.shape ?? {}) as Record<string, z.ZodType>)
  return keys
    .filter(([, schema]) => metaOf(schema).protects)
    .map(([key, schema]) => ({ path: `${section}.${key}`, unset: schema.parse(undefined) }))
}

function listNames(names: readonly string[]): string {
  const more = names.length - MAX_NAMES
  return more > 0 ? `${names.slice(0, MAX_NAMES).join(', ')} and ${more} more` : names.join(', ')
}
