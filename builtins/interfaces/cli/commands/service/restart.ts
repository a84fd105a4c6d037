import { join } from 'node:path'
import { Rest, type TcpAddress } from '#interfaces/rest/contract'
import { defineError } from '#kernel'
import type { SystemdUnit } from '#platform/daemon/contract'
import type { Context, HandWritten } from '../../context.ts'
import { checkStart, presetsOf } from '../../process/announce.ts'
import { detach } from '../../process/detach.ts'
import { writeHeartbeat } from '../../process/heartbeat.ts'
import { findProject } from '../../project/project.ts'
import serve, { wordsOf } from './serve.ts'
import start from './start.ts'
import { inWords, stopDaemons, systemctlLine } from './stop.ts'

/** This process would run the daemon outside its unit, and without the unit's environment. */
const RunBySystemdError = defineError({
  code: 'run_by_systemd',
  status: 409,
  title: 'Run by systemd',
  message: (p: { pid: number; unit: SystemdUnit }) =>
    `The daemon (PID ${p.pid}) is run by systemd; restart it with: ${systemctlLine('restart', p.unit)}`,
})

/**
 * Stops the daemon and starts it the same way as before: detached, with `--dev`, or in a server's process at the same
 * address. Options of the command are added.
 */
const restart: HandWritten = async (given, context) => {
  const seconds = Number(given.timeout ?? 30)
  const { terminal, json, ports, program, named } = context
  const root = await findProject(ports, named)
  const found = await program.findDaemon(ports, join(root, '.svc'))
  const { pid, serves, detached, dev, unit } = found?.holder ?? {}
  if (found?.alive && unit) throw new RunBySystemdError({ pid: pid!, unit })
  const input: typeof given = { ...given, detach: given.detach === true || detached, dev: given.dev === true || dev }
  if (found?.alive) await checkNewStart(root, input.profiles, serves, context)
  const stopped = await stopDaemons(root, seconds, context)
  if (!json) terminal.out(inWords(stopped, seconds))
  // Same format as the lifecycle events of the new daemon.
  else
    for (const each of stopped)
      terminal.out(JSON.stringify({ event: 'stopped', at: ports.clock.now().toISOString(), ...each }))
  if (!serves) return start(input, context)
  const served = { ...input, ...serves, with_daemon: true }
  if (input.detach !== true) return serve(served, context)
  await writeHeartbeat(context, root, given.heartbeat)
  return detach(root, ['serve', ...wordsOf(served, context)], context)
}
export default restart

/**
 * Checks that the daemon can start again, while the old one still runs.
 * @throws the errors of a start
 */
async function checkNewStart(
  root: string,
  profiles: unknown,
  serves: TcpAddress | undefined,
  { program }: Context,
): Promise<void> {
  // Plugins are not run: one that blocks the process may be the reason for the restart.
  await using kernel = await program.open({ root, roles: [], log: { level: 'silent' }, pluginFiles: 'none' })
  await checkStart(kernel, 'restart', presetsOf(profiles), serves ? ['rest'] : [])
  // The old daemon still uses the port, so another port shows whether listening on the host is permitted.
  if (serves) await (await kernel.use(Rest).listen({ ...serves, port: 0 })).close()
}
