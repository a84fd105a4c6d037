import { defineError, errorMessage, SvcError } from '#kernel'

const WRONG = 'Something went wrong inside the service; its log has the details'
/** An unexpected error inside the service; the log describes it, under the request id if the message has one. */
export const InternalError = defineError({
  code: 'internal_error',
  status: 500,
  title: 'Internal error',
  message: (given: { request_id: string } | void) => (given ? `${WRONG} under ${given.request_id}.` : `${WRONG}.`),
})
/** The files of the program were replaced, as by a build or an upgrade, and this process needs one that is gone. */
export const ProgramChangedError = defineError({
  code: 'program_changed',
  status: 500,
  title: 'Program changed',
  message: () =>
    'The program on disk was replaced after this process started, and a part that it needs is gone; restart the service with: svc restart',
})
/** Matches errors about a file of the build that is gone, or comes from another build. */
const OTHER_BUILD = /Cannot find module '[^']*\/dist\/[\w-]+\.js'|does not provide an export named/

/** Returns the error to show for an unexpected one, which the log describes. */
export function unexpectedError(thrown: unknown, request_id?: string): SvcError {
  if (OTHER_BUILD.test(errorMessage(thrown))) return new ProgramChangedError()
  return new InternalError(request_id === undefined ? undefined : { request_id })
}

export const DiskFullError = defineError({
  code: 'disk_full',
  status: 503,
  title: 'Disk full',
  message: (p: { what: string; next: string }) => `The disk that contains ${p.what} is full; free some space${p.next}.`,
})
export const DiskFailedError = defineError({
  code: 'disk_failed',
  status: 503,
  title: 'Disk failure',
  message: (p: { what: string; problem: string }) =>
    `The disk that contains ${p.what} failed (${p.problem}); nothing was written. Check the disk, and whether a quota is used up.`,
})
/** Returns whether the same write may succeed later: the database is locked or out of reach, or its disk is full. */
export function isTransient(error: unknown): error is SvcError {
  return error instanceof SvcError && error.status === 503
}

/** Numbers of EDQUOT, an exceeded quota, on Linux and macOS; Node has no code for it. */
const QUOTA_EXCEEDED = [-122, -69]

/** Returns whether a write failed for lack of space. */
export function isDiskFull(error: unknown): boolean {
  const { code, errno } = error as NodeJS.ErrnoException
  return code === 'ENOSPC' || QUOTA_EXCEEDED.includes(errno ?? 0)
}
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
