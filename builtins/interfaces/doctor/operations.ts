import { errorMessage, operation, parse, withTimeLimit, z } from '#kernel'
import { DoctorChecks, DoctorFinding, DoctorReport, finding } from './contract.ts'

const { fail } = finding

/** Time limit of a check, in milliseconds; a slower one has failed. */
const LIMIT_MS = 10_000

export const doctorChecks = operation({
  name: 'doctor.checks',
  summary: 'Show the health of modules and plugins',
  description: 'Checks the modules and plugins of this process; the command svc doctor also checks the machine.',
  input: z.object({}),
  output: z.array(DoctorReport),
  http: { method: 'GET', path: '/doctor' },
  mcp: true,
  run: (_, { svc }) =>
    Promise.all(
      svc.list(DoctorChecks).map(async ({ name, run }) => {
        const what = `The check "${name}"`
        const runCheck = async () => parse(DoctorFinding, await run(), what)
        const result = await withTimeLimit(svc.clock, LIMIT_MS, what, runCheck()).catch((error: unknown) =>
          fail(errorMessage(error), 'see svc logs'),
        )
        return { name, ...result }
      }),
    ),
})
