import { defineError, errorMessage } from '#kernel'

const WRONG = 'Something went wrong inside the service; its log has the details'
/** An unexpected error inside the service; the log describes it, under the request id if the message has one. */
export const InternalError = defineError({
  code: 'internal_error',
  status: 500,
  title: 'Internal error',
  message: (given: { request_id: string } | void) => (given ? `${WRONG} under ${given.request_id}.` : `${WRONG}.`),
})
export const DiskFullError = defineError({
  code: 'disk_full',
  status: 503,
  title: 'Disk full',
  message: (p: { what: string; next: string }) => `The disk that contains ${p.what} is full; free some space${p.next}.`,
})
export const MissingDependencyError = defineError({
  code: 'missing_dependency',
  status: 501,
  title: 'Missing dependency',
  message: (p: { package: string; purpose: string }) =>
    `The optional package "${p.package}" is needed for ${p.purpose}; install it with: npm install ${p.package}`,
})

/** Describes why a file cannot be read, for the end of a message that names it: `does not exist`. */
export function readProblem(error: unknown): string {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
    ? 'does not exist'
    : `cannot be read (${errorMessage(error)})`
}
