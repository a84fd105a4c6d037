import { basename, dirname, join, resolve } from 'node:path'
import type { PluginHandle } from '#kernel'
import type { WakeSource } from '#platform/heartbeat/contract'
import type { WakingConfig } from './config.ts'
import type { WatchedPath, Watcher } from './contract.ts'

/** Time without further changes after which a change counts, in milliseconds. */
const SETTLE_MS = 100
/** Maximum duration of continuous changes before they count, in milliseconds. */
const LONGEST_MS = 1_000
/** Maximum number of a folder's entries that are compared. */
const ENTRIES = 256

/** Returns the configured paths, absolute and without duplicates. */
export function watchedPaths(svc: PluginHandle, { watch_files }: WakingConfig): string[] {
  const home = svc.ports.env.HOME
  const absolute = watch_files.map(path =>
    home && /^~(\/|$)/.test(path) ? join(home, path.slice(1)) : resolve(svc.project.root, path),
  )
  return [...new Set(absolute)]
}

/**
 * Wakes when a path changes, appears or vanishes. The path is never opened, so pipes and devices are safe. Entries of a
 * folder count, deeper ones do not; links are followed.
 */
export function fileSource(svc: PluginHandle, watcher: Watcher, path: string): WakeSource {
  let seen: string | undefined
  const look = async () => {
    const now = await fingerprint(svc, path)
    seen ??= now
    return now === seen ? undefined : now
  }
  return {
    name: `file ${path}`,
    async wait(signal) {
      let changed = await watcher.until(() => placesOf(svc, path), look, signal)
      const until = svc.clock.monotonic() + LONGEST_MS
      while (svc.clock.monotonic() < until && !signal.aborted) {
        await svc.clock.sleep(SETTLE_MS, signal)
        const now = await fingerprint(svc, path)
        if (now === changed) break
        changed = now
      }
      seen = changed
      return 'file_change'
    },
  }
}

/** Returns the places to watch for a change: the folder of the path, the folder of its link's target, and the path itself if it is a folder. */
async function placesOf({ ports: { files } }: PluginHandle, path: string): Promise<WatchedPath[]> {
  const real = await files.realpath(path).catch(() => path)
  const beside = [...new Set([path, real])].map(each => ({ folder: dirname(each), name: basename(each) }))
  const info = await files.stat(real).catch(() => undefined)
  return info?.isDirectory() ? [...beside, { folder: real }] : beside
}

/** Returns a string that differs between two states of a path. */
async function fingerprint({ ports: { files } }: PluginHandle, path: string): Promise<string> {
  try {
    const real = await files.realpath(path)
    const info = await files.stat(real)
    const self = `${real} ${stateOf(info)}`
    if (!info.isDirectory()) return self
    const names: string[] = []
    for await (const { name } of await files.opendir(real)) if (names.push(name) === ENTRIES) break
    const states = names.sort().map(async name => {
      const entry = await files.lstat(join(real, name)).catch(() => undefined)
      return `${name} ${entry ? stateOf(entry) : 'gone'}`
    })
    return [self, ...(await Promise.all(states))].join('\n')
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unreadable'
  }
}

function stateOf({ ino, size, mtimeMs }: { ino: number; size: number; mtimeMs: number }): string {
  return `${ino} ${size} ${mtimeMs}`
}
