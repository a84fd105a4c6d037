import { relative } from 'node:path'
import { HostToken, type PluginHandle } from '#kernel'
import { isOf } from './shared.ts'

/** A place in a plugin's file. */
export interface Trace {
  plugin: string
  /** `file:line:column` */
  place: string
  /** What it does is known by now. */
  suspended: boolean
}

/** The innermost place in a plugin's file that an error's stack goes through. */
export function traceOf(svc: PluginHandle, error: unknown): Trace | undefined {
  for (const place of placesOf(error)) {
    const file = place.replace(/:\d+:\d+$/, '')
    const folder = svc.project.plugins.find(each => file.startsWith(`${each}/`))
    if (!folder) continue
    const known = svc
      .use(HostToken)
      .list()
      .find(({ origin }) => isOf(file, origin))
    // One that is not live has the name of its file.
    return {
      plugin: known?.name ?? relative(folder, file).replace(/[/.].*/s, ''),
      place,
      suspended: known?.state === 'suspended',
    }
  }
  return undefined
}

/** The files that a stack goes through, innermost first, as `file:line:column`. */
export function placesOf(error: unknown): string[] {
  const lines = error instanceof Error ? (error.stack ?? '').split('\n') : []
  return lines.flatMap(line => /^\s+at .*?(?:file:\/\/)?(\/.*:\d+:\d+)\)?$/.exec(line)?.[1] ?? [])
}
