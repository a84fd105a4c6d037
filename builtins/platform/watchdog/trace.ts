import { relative } from 'node:path'
import { HostToken, type PluginHandle } from '#kernel'
import { isOf } from './shared.ts'

/** A position in a plugin's file. */
export interface Trace {
  plugin: string
  /** Position as `file:line:column`. */
  place: string
  /** Whether the plugin is suspended, so that its errors are known. */
  suspended: boolean
}

/** Returns the innermost position in a plugin's file on an error's stack. */
export function traceOf(svc: PluginHandle, error: unknown): Trace | undefined {
  for (const place of placesOf(error)) {
    const file = place.replace(/:\d+:\d+$/, '')
    const folder = svc.project.plugins.find(each => file.startsWith(`${each}/`))
    if (!folder) continue
    const known = svc
      .use(HostToken)
      .list()
      .find(({ origin }) => isOf(file, origin))
    // A plugin that is not loaded is named after its file.
    return {
      plugin: known?.name ?? relative(folder, file).replace(/[/.].*/s, ''),
      place,
      suspended: known?.state === 'suspended',
    }
  }
  return undefined
}

/** Returns the positions on an error's stack, innermost first, as `file:line:column`. */
export function placesOf(error: unknown): string[] {
  const lines = error instanceof Error ? (error.stack ?? '').split('\n') : []
  return lines.flatMap(line => /^\s+at .*?(?:file:\/\/)?(\/.*:\d+:\d+)\)?$/.exec(line)?.[1] ?? [])
}
