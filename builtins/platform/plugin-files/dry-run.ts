import type { Kernel, LoadedPlugin } from '#kernel'
import type { DryRun } from './contract.ts'

/**
 * Returns what a plugin would register if it were live. It is made live and removed again without yielding to the event
 * loop, so that a refusal shows here. Resources are not started.
 * @throws the reason for a refusal; a version that was live is then live again
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
