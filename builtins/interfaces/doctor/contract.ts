import type { FoundServer } from '#interfaces/rest/contract'
import { type Issue, type Kernel, type Ports, point, z } from '#kernel'
import type { FoundDaemon } from '#platform/daemon/contract'
import type { DatabaseFiles } from '#platform/store/contract'

/** How something stands that may go wrong. `warn`: the service runs, but not as well or as safely as it could. */
export const DoctorFinding = z
  .object({
    level: z.enum(['ok', 'warn', 'fail']),
    message: z.string().meta({ examples: ['Node 20.20.2'] }),
    remedy: z.string().nullable().describe('What to do about it'),
  })
  .meta({ id: 'DoctorFinding' })
export type DoctorFinding = z.infer<typeof DoctorFinding>

export const DoctorReport = DoctorFinding.extend({ name: z.string().meta({ examples: ['disk'] }) }).meta({
  id: 'DoctorReport',
})
export type DoctorReport = z.infer<typeof DoctorReport>

/** A check that runs in a process with all modules and plugins. One that throws is a finding that it failed. */
export interface DoctorCheck {
  /** In snake_case, as in `default_model`. */
  name: string
  /** Changes nothing, and takes a few seconds at most. */
  run(): Promise<DoctorFinding>
}
export const DoctorChecks = point<DoctorCheck>('doctor_checks', {
  key: check => check.name,
  has: { name: 'text', run: 'function' },
})

/** What a check says. A remedy is what to do, in a few words. */
export const finding = {
  ok: (message: string): DoctorFinding => ({ level: 'ok', message, remedy: null }),
  warn: (message: string, remedy: string): DoctorFinding => ({ level: 'warn', message, remedy }),
  fail: (message: string, remedy: string): DoctorFinding => ({ level: 'fail', message, remedy }),
}

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
