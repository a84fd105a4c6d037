import { PluginError } from '../errors.ts'
import { near } from '../near.ts'
import type { LoadedPlugin } from '../source.ts'

/**
 * Plugins after those they need, otherwise in the order given. Where files' plugins need each other, some order.
 * @throws PluginError when a builtin needs what is not there, or itself
 */
export function order(plugins: readonly LoadedPlugin[]): LoadedPlugin[] {
  const byName = new Map(plugins.map(each => [each.definition.name, each]))
  const ordered = new Set<LoadedPlugin>()
  const visit = (each: LoadedPlugin, path: readonly LoadedPlugin[]) => {
    if (ordered.has(each)) return
    if (path.includes(each)) {
      if (each.origin !== 'builtin') return
      const circle = [...path.slice(path.indexOf(each)), each].map(({ definition }) => definition.name)
      throw unmet(each.definition.name, inCircle(circle))
    }
    for (const need of each.definition.needs ?? []) {
      const needed = byName.get(need)
      if (needed) visit(needed, [...path, each])
      else if (each.origin === 'builtin') {
        throw unmet(each.definition.name, `needs "${need}", which is switched off or missing`)
      }
    }
    ordered.add(each)
  }
  for (const each of plugins) visit(each, [])
  return [...ordered]
}

const inCircle = (names: readonly string[]) => `needs itself in a circle: ${names.join(' → ')}`

/** What a builtin whose needs cannot be met ends the start with. */
function unmet(plugin: string, problem: string) {
  return new PluginError({ plugin, where: 'builtin', problem })
}

/** Why a plugin has to wait: what it needs is not live, or needs it in turn. */
export class NeedsError extends Error {}

/** Why a plugin has to wait, or to leave. @param live the names there are */
export function needsError(missing: readonly string[], live: Iterable<string>): NeedsError {
  const known = [...live]
  const names = missing.map(name => `"${name}"`).join(', ')
  const [likely] = missing.flatMap(name => near(name, known))
  const remedy = likely === undefined ? 'add it, or take it out of `needs`' : `did you mean "${likely}"?`
  return new NeedsError(`needs ${names}, which is not live; ${remedy}`)
}

/** Why a plugin that comes to need itself has to wait; undefined for one that does not. @param needsOf what others need, by name */
export function circle(
  name: string,
  needs: readonly string[],
  needsOf: (name: string) => readonly string[],
): NeedsError | undefined {
  const met = new Set<string>()
  const walk = (needs: readonly string[], path: readonly string[]): NeedsError | undefined => {
    for (const need of needs) {
      if (need === name) return new NeedsError(inCircle([...path, need]))
      if (met.has(need)) continue
      met.add(need)
      const found = walk(needsOf(need), [...path, need])
      if (found) return found
    }
    return undefined
  }
  return walk(needs, [name])
}
