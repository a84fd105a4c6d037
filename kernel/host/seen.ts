import type { FoundPlugin, PluginSource, Retry } from '../source.ts'
import { inactiveState, type PluginState } from './state.ts'
import type { Version } from './version.ts'

/** A found plugin and its source. */
export interface Found {
  plugin: FoundPlugin
  source: PluginSource
}

/** Last known state of a plugin of a source. */
export interface Seen extends Found {
  /** The plugin's name and what it needs, once it could be loaded. */
  name?: string
  needs?: readonly string[]
  error?: string
  /** Returns whether to load the plugin again. */
  retry?: Retry | undefined
}

/** Returns what identifies a plugin over its versions: the name of a builtin, the origin of any other. */
export function idOf(origin: string, name: string): string {
  return origin === 'builtin' ? name : origin
}

/** Returns the states to show: live versions, failed plugins, and replaced modules. */
export function statesOf(
  versions: readonly Version[],
  seen: ReadonlyMap<string, Seen>,
  modules: ReadonlyMap<string, Version>,
): PluginState[] {
  const live = versions.map(({ state, origin, name }) => {
    const failure = state.state === 'suspended' ? state.last_failure : null
    return { ...state, error: seen.get(idOf(origin, name))?.error ?? failure }
  })
  const ids = new Set(versions.map(({ origin, name }) => idOf(origin, name)))
  const failed = [...seen]
    .filter(([id, { error }]) => error !== undefined && !ids.has(id))
    .map(([, { plugin, name = plugin.stem, error = null }]) => inactiveState(name, plugin.origin, 'failed', error))
  const replaced = versions
    .filter(({ origin, place }) => origin !== 'builtin' && modules.has(place))
    .map(({ name, place }) => inactiveState(place, 'builtin', 'replaced', `"${name}" replaces "${place}"`))
  return [...live, ...failed, ...replaced]
}
