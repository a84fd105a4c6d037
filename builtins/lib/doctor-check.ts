import { point, z } from '#kernel'

/** Result of a check. `warn`: the service runs, but not as well or as safely as it could. */
export const DoctorFinding = z
  .object({
    level: z.enum(['ok', 'warn', 'fail']),
    message: z.string().meta({ examples: ['Node 20.20.2'] }),
    remedy: z.string().nullable().describe('How to fix the problem; null when the check is ok'),
  })
  .meta({ id: 'DoctorFinding' })
export type DoctorFinding = z.infer<typeof DoctorFinding>

export const DoctorReport = DoctorFinding.extend({ name: z.string().meta({ examples: ['disk'] }) }).meta({
  id: 'DoctorReport',
})
export type DoctorReport = z.infer<typeof DoctorReport>

/** A check that runs in a process with all modules and plugins. An exception is reported as a failed check. */
export interface DoctorCheck {
  /** Name in snake_case, such as `default_model`. */
  name: string
  /** Runs the check, which changes nothing and takes a few seconds at most. */
  run(): Promise<DoctorFinding>
}
export const DoctorChecks = point<DoctorCheck>('doctor_checks', {
  key: check => check.name,
  has: { name: 'text', run: 'function' },
})

/** Creates findings. A remedy says in a few words what to do. */
export const finding = {
  ok: (message: string): DoctorFinding => ({ level: 'ok', message, remedy: null }),
  warn: (message: string, remedy: string): DoctorFinding => ({ level: 'warn', message, remedy }),
  fail: (message: string, remedy: string): DoctorFinding => ({ level: 'fail', message, remedy }),
}
