import { join } from 'node:path'
import { Rest, type TcpAddress } from '#interfaces/rest/contract'
import type { Context, HandWritten } from '../../context.ts'
import { checkPresets, presetsOf } from '../../process/announce.ts'
import { detach } from '../../process/detach.ts'
import { heartbeatOf, writeHeartbeat } from '../../process/heartbeat.ts'
import { findProject } from '../../project/project.ts'
import serve, { wordsOf } from './serve.ts'
import start from './start.ts'
import { inWords, stopDaemons, timeoutOf } from './stop.ts'

/**
 * Stops the daemon and starts it as it ran: detached, with `--dev`, or in a server's process at the same address.
 * Options of the command add to that.
 */
const restart: HandWritten = async (given, context) => {
  const seconds = timeoutOf(given.timeout)
  const heartbeat = heartbeatOf(given.heartbeat)
  const { terminal, json, ports, program, named } = context
  const root = await findProject(ports, named)
  const found = await program.findDaemon(ports, join(root, '.svc'))
  const { serves, detached, dev } = found?.holder ?? {}
  const input: typeof given = { ...given, detach: given.detach === true || detached, dev: given.dev === true || dev }
  if (found?.alive) await checkStart(root, input.profiles, serves, context)
  const stopped = await stopDaemons(root, seconds, context)
  if (!json) terminal.out(inWords(stopped, seconds))
  // In the form of the new daemon's own life events.
  else
    for (const each of stopped)
      terminal.out(JSON.stringify({ event: 'stopped', at: ports.clock.now().toISOString(), ...each }))
  if (!serves) return start(input, context)
  await writeHeartbeat(context, root, heartbeat)
  const served = { ...input, ...serves, with_daemon: true }
  if (input.detach === true) return detach(root, ['serve', ...wordsOf(served, context)], context)
  return serve(served, context)
}
export default restart

/** Problems that would keep the daemon from starting again are reported while it still runs. @throws as a start does */
async function checkStart(
  root: string,
  profiles: unknown,
  serves: TcpAddress | undefined,
  { program }: Context,
): Promise<void> {
  // A plugin that never gives back control may be why it is restarted.
  await using kernel = await program.open({ root, roles: [], log: { level: 'silent' }, pluginFiles: 'none' })
  await checkPresets(kernel, presetsOf(profiles))
  // Its port is taken yet; at any other one sees whether it may listen on the host.
  if (serves) await (await kernel.use(Rest).listen({ ...serves, port: 0 })).close()
}
