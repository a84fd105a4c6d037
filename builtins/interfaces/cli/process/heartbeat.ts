import { HeartbeatConfig } from '#platform/heartbeat/contract'
import type { Context } from '../context.ts'

/**
 * Writes only the heartbeat to the configuration file, so that a reload keeps it. Warns when the environment overrides
 * it.
 */
export async function writeHeartbeat(
  { program, ports, terminal }: Pick<Context, 'program' | 'ports' | 'terminal'>,
  root: string,
  heartbeat: unknown,
): Promise<void> {
  if (heartbeat === undefined) return
  const config = await program.configOf(ports, root)
  config.section('daemon', HeartbeatConfig, 'kernel').add()
  await config.patch({ daemon: { heartbeat } })
  const over = config.keys().find(({ path, source }) => path === 'daemon.heartbeat' && source === 'env')
  if (over)
    terminal.err(
      `svc: warning: daemon.heartbeat is ${heartbeat} in the file, but the environment variable ${over.env} overrides it`,
    )
}
