import type { HandWritten } from '../../context.ts'
import { findProject } from '../../project/project.ts'
import { print } from '../../screen/printable.ts'

/** Runs PostgreSQL for this project until Ctrl-C, or finds the running one. */
export const up: HandWritten = async ({ detach }, context) => {
  const { ports, terminal, named, program } = context
  const root = await findProject(ports, named)
  const { findServer, startServer, stopServer, serverEnded } = await program.databaseServer()
  const found = await findServer(root, ports)
  const { url, pid } = found ?? (await startServer(root, ports))
  print(context, { url, pid }, `export SVC_STORE_URL=${url}`)
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
export const down: HandWritten = async (_, context) => {
  const { ports, named, program } = context
  const { stopServer } = await program.databaseServer()
  const stopped = await stopServer(await findProject(ports, named), ports)
  const text = stopped ? 'PostgreSQL has stopped; its data stay in .svc/postgres.' : 'PostgreSQL is not running.'
  return print(context, { stopped }, text)
}
