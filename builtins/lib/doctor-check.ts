import { point, z } from '#kernel'

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
