import type { OperationCall } from '#kernel'

/** Returns the name of the caller who decides or answers: the user of the request, or `cli` for the command line. */
export function callerName({ via, local, tenant }: OperationCall): string {
  return via === 'cli' || (local && tenant === 'default') ? 'cli' : tenant
}
