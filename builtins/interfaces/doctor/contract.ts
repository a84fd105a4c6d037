import type { FoundServer } from '#interfaces/rest/contract'
import type { Issue, Kernel, Ports } from '#kernel'
import type { DoctorReport } from '#lib/doctor-check'
import type { FoundDaemon } from '#platform/daemon/contract'
import type { DatabaseFiles } from '#platform/store/contract'

export { type DoctorCheck, DoctorChecks, DoctorFinding, DoctorReport, finding } from '#lib/doctor-check'

/** What the checks examine before any module is started, with the helpers that they use. */
export interface CheckContext {
  ports: Ports
  /** Folder of the project, or the message that there is none. */
  project: { root: string } | { missing: string }
  /** Folder that svc is installed in. */
  packageRoot: string
  /** `engines.node` of package.json, as in `>=20.19`. */
  needsNode: string
  database: () => Promise<DatabaseFiles>
  findDaemons(svc: string): Promise<FoundDaemon[]>
  findServers(svc: string): Promise<FoundServer[]>
  /**
   * Opens the project without its plugin files. Returns its kernel and the warnings logged.
   * @param copy opened instead of the database
   */
  open(roles: readonly ('cli' | 'daemon')[], copy?: string): Promise<{ kernel: Kernel; warnings: readonly string[] }>
  /** Returns the configuration problems that keep the service from starting. */
  faults(): Promise<readonly Issue[]>
  /** Runs the checks in the running daemon; undefined when none answers. */
  askDaemon(): Promise<readonly DoctorReport[] | undefined>
  /** Called with the name of each check. */
  progress(name: string): void
}

/** @deprecated Use `CheckContext`. */
export type Patient = CheckContext

/** The part of the doctor that the command line loads. */
export interface DoctorModule {
  examine(context: CheckContext): Promise<DoctorReport[]>
}
