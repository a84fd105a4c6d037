import type { OperationCall } from '#kernel'

/** Who decides or answers: the user that a request names, or `cli` for the command line. */
export function callerName({ via, local, tenant }: OperationCall): string {
  return via === 'cli' || (local && tenant === 'default') ? 'cli' : tenant
}
