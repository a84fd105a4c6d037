import { hostname } from 'node:os'
import type { PluginHandle, Role } from '#kernel'
import { DiskFullError } from '#lib/errors'
import { ActiveRecording } from '#lib/recording-context'
import { DatabaseCopy, type EngineParts, Medium, type OpenedStore, wakeAgents } from './contract.ts'
import { LocalScheduler } from './scheduler.ts'
import { openDatabase } from './sqlite/open.ts'
import { OtherProcesses } from './sqlite/other-processes.ts'
import type { Snapshot } from './sqlite/snapshot.ts'
import { SqliteStore } from './store.ts'

const STAYING: readonly Role[] = ['daemon', 'server', 'mcp']

/**
 * Opens the default engine: one SQLite file per project, with a scheduler.
 * @param ending aborted when the process ends
 * @throws DatabaseUnusableError
 */
export async function openEmbedded(
  svc: PluginHandle,
  { planner, heartbeat, rest }: EngineParts,
  synchronous: 'normal' | 'full',
  ending: AbortSignal,
): Promise<OpenedStore> {
  const open = (file: string) =>
    openDatabase(file, svc.ports, {
      synchronous,
      ...(file === svc.project.database ? { log: svc.log } : {}),
      check: svc.roles.has('daemon') || svc.roles.has('server'),
      medium: svc.has(Medium) ? svc.use(Medium) : undefined,
    })
  const file = svc.has(DatabaseCopy) ? svc.use(DatabaseCopy) : svc.project.database
  let copy: Snapshot | undefined
  const database = await open(file).catch(async error => {
    if (!(error instanceof DiskFullError) || STAYING.some(role => svc.roles.has(role))) throw error
    // SQLite needs disk space even to read. A command reads from a copy elsewhere; its writes are refused.
    copy = await (await import('./sqlite/snapshot.ts')).snapshot(file, svc.ports)
    const copied = await open(copy.file)
    copied.script('PRAGMA query_only = ON')
    return copied
  })
  database.recording = () => (svc.has(ActiveRecording) ? svc.use(ActiveRecording) : undefined)
  database.ending = ending
  const owner = svc.ports.ids.make(`${hostname()}:${process.pid}`, 8)
  database.otherProcesses = new OtherProcesses(database, svc.clock, owner)
  // Long-running processes register with a recording process before their first write.
  if (STAYING.some(role => svc.roles.has(role))) void database.otherProcesses.register().catch(() => {})
  const store = new SqliteStore(svc, database, planner)
  store.scheduler = new LocalScheduler({
    database,
    owner,
    now: () => svc.clock.ms(),
    monotonic: () => svc.clock.monotonic(),
    heartbeat,
    rest,
    present: () => database.present(svc.ports),
    write: (...wanted) => store.write(...wanted),
    wake: async (agents, reason) => void (await store.apply([wakeAgents({ ...(agents ? { agents } : {}), reason })])),
  })
  const close = async () => {
    database.close()
    await copy?.discard()
  }
  return { store, scheduler: store.scheduler, close }
}
