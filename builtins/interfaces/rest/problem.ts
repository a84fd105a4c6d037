import type { SvcError } from '#kernel'
import type { Problem } from './contract.ts'

/** Returns an error as a problem document. */
export function problemOf(error: SvcError, request_id: string): Problem {
  const { code, title, status, message: detail, errors } = error
  const problem = { type: `urn:svc:problem:${code}`, title, status, detail, code, request_id }
  const listed = errors
    .slice(0, MOST_ERRORS)
    .map(({ path, message }) => ({ path: path.slice(0, LONGEST_PATH), message }))
  return listed.length > 0 ? { ...problem, errors: listed } : problem
}

/** Maximum number of reported problems, each with a shortened path: input may have any number, of any length. */
const MOST_ERRORS = 100

const LONGEST_PATH = 200
