import type { Kernel, LoadedPlugin } from '#kernel'
import type { DryRun } from './contract.ts'

/**
 * Returns what a plugin would hold if it were live: it is shown and hidden again without a turn of the event loop in between,
 * so that what would be refused is refused here. Resources are not started.
 * @throws what refuses it; a version that was live is back then too
 */
export function dryRun(loaded: LoadedPlugin, { host, points, config }: Kernel): DryRun {
  return host.preview(loaded, ({ definition, name, labels, resources }) => {
    const own = [...points.all()].flatMap(([point, all]) =>
      all.flatMap(({ owner, key, value }) => (owner === name ? [[`${point}: ${key}`, value] as const] : [])),
    )
    return {
      definition,
      registered: labels,
      contributions: new Map(own),
      config: config.keys().filter(({ owner }) => owner === name),
      resources: resources.map(resource => resource.in),
    }
  })
}
