import type { FoundServer } from '#interfaces/rest/contract'
import type { Issue, Kernel, Ports } from '#kernel'
import type { DoctorReport } from '#lib/doctor-check'
import type { FoundDaemon } from '#platform/daemon/contract'
import type { DatabaseFiles } from '#platform/store/contract'

export { type DoctorCheck, DoctorChecks, DoctorFinding, DoctorReport, finding } from '#lib/doctor-check'

/** What is checked before any module is started, and with which helpers. */
export interface Patient {
  ports: Ports
  /** The project's folder; the sentence about there being none. */
  project: { root: string } | { missing: string }
  /** The folder that svc is installed in. */
  packageRoot: string
  /** `engines.node` of package.json, as in `>=20.19`. */
  needsNode: string
  database: () => Promise<DatabaseFiles>
  findDaemons(svc: string): Promise<FoundDaemon[]>
  findServers(svc: string): Promise<FoundServer[]>
  /** A process of the project without its plugin files, and what it warned of. @param copy opened instead of the database */
  open(roles: readonly ('cli' | 'daemon')[], copy?: string): Promise<{ kernel: Kernel; warnings: readonly string[] }>
  /** What keeps the service from starting with its configuration. */
  faults(): Promise<readonly Issue[]>
  /** The checks of the running daemon; undefined when none answers. */
  askDaemon(): Promise<readonly DoctorReport[] | undefined>
  /** Called with the name of each check. */
  progress(name: string): void
}

/** How the command line looks at a machine. */
export interface DoctorModule {
  examine(patient: Patient): Promise<DoctorReport[]>
}
