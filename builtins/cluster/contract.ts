import { defineError } from '#kernel'

export const NoClusterError = defineError({
  code: 'no_cluster',
  status: 409,
  title: 'No cluster',
  sentence: () =>
    'This project keeps what it knows in a file of its own, on this machine; several machines need store.url or SVC_STORE_URL, as in postgres://user@host/svc.',
})
export const NodeNotFoundError = defineError({
  code: 'node_not_found',
  status: 404,
  title: 'No such node',
  sentence: (p: { node: string; found: number }) =>
    p.found === 0
      ? `No node's name begins or ends with "${p.node}"; see them with: svc cluster`
      : `${p.found} nodes' names begin or end with "${p.node}"; say more of it.`,
})
export const TargetInUseError = defineError({
  code: 'target_in_use',
  status: 409,
  title: 'Target in use',
  sentence: (p: { at: string }) =>
    `The database at ${p.at} has agents or events already, and nothing was written; name one that is empty.`,
})
export const MoveFailedError = defineError({
  code: 'move_failed',
  status: 409,
  title: 'Move failed',
  sentence: (p: { table: string; rows: number; arrived: number }) =>
    `What arrived of ${p.table} is not what was sent (${p.rows} rows, ${p.arrived} arrived), so nothing was written; stop whatever still writes (svc stop, and svc serve) and try again.`,
})
export const AlreadyMovedError = defineError({
  code: 'already_moved',
  status: 409,
  title: 'Already moved',
  sentence: () =>
    'This project keeps what it knows in a database of several machines already; unset SVC_STORE_URL and store.url to move its file.',
})
