import type { LocalServer } from '#platform/cluster/contract'
import type { Context, HandWritten } from '../../context.ts'
import { findProject } from '../../project/project.ts'

/** Runs PostgreSQL for this project until Ctrl-C, or finds the running one. */
export const up: HandWritten = async ({ detach }, context) => {
  const { ports, terminal, named, program } = context
  const root = await findProject(ports, named)
  const { findServer, startServer, stopServer, serverEnded } = await program.databaseServer()
  const found = await findServer(root, ports)
  const server = found ?? (await startServer(root, ports))
  print(context, server)
  if (found || detach === true) return 0
  terminal.err('PostgreSQL runs until Ctrl-C.')
  const stop = new AbortController()
  const end = () => stop.abort()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end)
  await serverEnded(root, ports, stop.signal)
  if (!stop.signal.aborted) {
    terminal.err('PostgreSQL has ended; logs/postgres.log may say why.')
    return 1
  }
  await stopServer(root, ports)
  return 0
}

/** Stops PostgreSQL, wherever it was started. */
export const down: HandWritten = async (_, { ports, terminal, json, named, program }) => {
  const { stopServer } = await program.databaseServer()
  const stopped = await stopServer(await findProject(ports, named), ports)
  if (json) terminal.out(JSON.stringify({ stopped }, null, 2))
  else terminal.out(stopped ? 'PostgreSQL has stopped; its data stay in .svc/postgres.' : 'PostgreSQL is not running.')
  return 0
}

function print({ terminal, json }: Context, { url, pid }: LocalServer): void {
  if (json) terminal.out(JSON.stringify({ url, pid }, null, 2))
  else terminal.out(`export SVC_STORE_URL=${url}`)
}
