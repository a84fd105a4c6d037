import { join } from 'node:path'
import { errorMessage, type PluginHandle } from '#kernel'
import type { WakeSource } from '#platform/heartbeat/contract'
import { Store } from '#platform/store/contract'
import type { Watcher } from './contract.ts'
import { areNudges } from './repository.ts'

/** Maximum number of markers read at a time. */
const PORTION = 4_096
/** Number of files removed in parallel. */
const BATCH_SIZE = 64

const folderOf = (svc: PluginHandle) => join(svc.project.svc, 'nudges')

/**
 * Writes a marker that wakes the daemon in another process for a message. The message itself is a database row, so
 * losing the marker only delays it.
 */
export async function leaveMarker(svc: PluginHandle, nudge_id: string): Promise<void> {
  if (svc.heartbeat.live) return
  const { files } = svc.ports
  const folder = folderOf(svc)
  try {
    await files.mkdir(folder, { recursive: true, mode: 0o700 })
    await files.writeFile(join(folder, `${nudge_id}.json`), '{}\n', { mode: 0o600, flag: 'wx' })
  } catch (error) {
    svc.log.warn(
      {},
      `no marker could be written for ${nudge_id}, so the daemon notices it a moment later: ${errorMessage(error)}`,
    )
  }
}

/**
 * Wakes when markers appear in `.svc/nudges/`. Markers of stored messages only trigger a check; others wake all agents.
 */
export function nudgeSource(svc: PluginHandle, watcher: Watcher): WakeSource {
  const { files } = svc.ports
  const folder = folderOf(svc)
  const places = async () => {
    await files.mkdir(folder, { recursive: true, mode: 0o700 }).catch(() => {})
    return [{ folder }]
  }
  // Skips reading a folder that was empty after its last change and has not changed since.
  let [empty, seen] = ['', '']
  const look = async (hasChanged: boolean) => {
    // Changes with each added or removed entry, except within one tick of the file system's clock.
    const state = svc.ports.stampOf(folder) ?? 'none'
    if (!hasChanged && state === empty) return undefined
    const taken = await takeMarkers(svc, folder)
    empty = taken.length === 0 && state === seen ? state : ''
    seen = state
    if (taken.length === 0) return undefined
    // The message's own transaction has already woken its agent; a second wake would cost a cycle.
    if (!(await areNudges(svc.use(Store), taken))) return 'nudge'
    svc.heartbeat.hint()
    return undefined
  }
  return { name: 'nudge', wait: signal => watcher.until(places, look, signal) }
}

/** Removes the present markers. @returns their names, without `.json` */
async function takeMarkers(svc: PluginHandle, folder: string): Promise<string[]> {
  const { files } = svc.ports
  const names: string[] = []
  try {
    // The target of a link must not be emptied.
    if (!(await files.lstat(folder)).isDirectory()) return []
    for await (const entry of await files.opendir(folder, { bufferSize: 256 })) {
      if (!entry.isDirectory()) names.push(entry.name)
      if (names.length === PORTION) break
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') svc.log.warn({}, `${folder}: ${errorMessage(error)}`)
  }
  const taken: string[] = []
  for (let at = 0; at < names.length; at += BATCH_SIZE) {
    const removed = names.slice(at, at + BATCH_SIZE).map(async name => {
      await files.unlink(join(folder, name)).then(
        () => taken.push(name.replace(/\.json$/, '')),
        () => {},
      )
    })
    await Promise.all(removed)
  }
  return taken
}
