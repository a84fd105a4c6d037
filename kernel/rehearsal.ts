import type { ConfigKeyInfo, Configuration } from './configuration.ts'
import type { PluginDefinition } from './plugin.ts'
import type { Points } from './points.ts'
import type { Role } from './project.ts'
import type { Version } from './version.ts'

/** What a plugin would hold if it were live. */
export interface Rehearsal {
  definition: PluginDefinition
  /** The names of all that it registers, in its order, as in the list of plugins. */
  registered: string[]
  /** What it adds to points, by the label under which it stands in `registered`. */
  contributions: ReadonlyMap<string, unknown>
  config: ConfigKeyInfo[]
  /** The roles of the processes in which each of its resources would start. */
  resources: (readonly Role[])[]
}

/**
 * The swap as it would be, and back, without a turn of the event loop in between: what would be refused is refused here,
 * and nobody sees anything of it. Resources are not started.
 * @throws what `show` throws; the old version is back then too
 */
export function rehearse(
  next: Version,
  old: Version | undefined,
  { points, config }: { points: Points; config: Configuration },
): Rehearsal {
  const { definition, name } = next
  old?.hide()
  try {
    for (const rank of [0, 1] as const) next.show(rank)
    const own = [...points.all()].flatMap(([point, all]) =>
      all.flatMap(({ owner, key, value }) => (owner === name ? [[`${point}: ${key}`, value] as const] : [])),
    )
    return {
      definition,
      registered: next.labels,
      contributions: new Map(own),
      config: config.keys().filter(({ owner }) => owner === name),
      resources: next.resources.map(resource => resource.in),
    }
  } finally {
    next.hide()
    for (const rank of [0, 1] as const) old?.show(rank)
  }
}
