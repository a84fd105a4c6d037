import { closestMatches } from '../did-you-mean.ts'
import type { LoadedPlugin } from '../source.ts'

/** Returns plugins after those they need, else in the given order. Plugins in a cycle come in any order. */
export function order(plugins: readonly LoadedPlugin[]): LoadedPlugin[] {
  const byName = new Map(plugins.map(each => [each.definition.name, each]))
  const visited = new Set<LoadedPlugin>()
  const visit = (each: LoadedPlugin): LoadedPlugin[] => {
    if (visited.has(each)) return []
    visited.add(each)
    const needed = (each.definition.needs ?? []).flatMap(need => byName.get(need) ?? [])
    return [...needed.flatMap(visit), each]
  }
  return plugins.flatMap(visit)
}

/** A plugin has to wait, because something that it needs is not live or needs it in turn. */
export class NeedsError extends Error {}

/** A plugin cannot be replaced before the next start. */
export class RestartNeededError extends Error {}

/** Returns the error of a plugin whose needs are missing. @param live names of live plugins */
export function needsError(missing: readonly string[], live: Iterable<string>): NeedsError {
  const known = [...live].filter(name => !missing.includes(name))
  const names = missing.map(name => `"${name}"`).join(', ')
  const [likely] = missing.flatMap(name => closestMatches(name, known))
  const remedy = likely === undefined ? 'add it, or take it out of `needs`' : `did you mean "${likely}"?`
  return new NeedsError(`needs ${names}, which is not live; ${remedy}`)
}

/**
 * Returns an error that names the cycle if a plugin needs itself; else undefined. @param needsOf returns the needs of a
 * plugin by name
 */
export function describeCycle(
  name: string,
  needs: readonly string[],
  needsOf: (name: string) => readonly string[],
): NeedsError | undefined {
  const met = new Set<string>()
  const walk = (needs: readonly string[], path: readonly string[]): NeedsError | undefined => {
    for (const need of needs) {
      if (need === name) return new NeedsError(`has a circular dependency: ${[...path, need].join(' → ')}`)
      if (met.has(need)) continue
      met.add(need)
      const found = walk(needsOf(need), [...path, need])
      if (found) return found
    }
    return undefined
  }
  return walk(needs, [name])
}
