import type { PluginHandle } from '#kernel'
import { Daemon } from '#platform/daemon/contract'
import { NEVER } from '#platform/store/statements'

/** Returns the time before which leases have expired: now, or `NEVER` (all of them) where no daemon runs. */
export async function leasesOver(svc: PluginHandle): Promise<number> {
  const isDriven = !svc.has(Daemon) || (await svc.use(Daemon).isDriven())
  return isDriven ? svc.clock.ms() : NEVER
}
