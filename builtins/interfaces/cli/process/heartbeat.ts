import { HeartbeatConfig } from '#platform/heartbeat/contract'
import type { Context } from '../context.ts'
import { UsageError } from '../contract.ts'

/**
 * Parses the value of `--heartbeat`.
 * @throws UsageError, before anything is written
 */
export function heartbeatOf(text: unknown): number | undefined {
  if (text === undefined) return undefined
  const parsed = HeartbeatConfig.shape.heartbeat.safeParse(String(text).trim() === '' ? Number.NaN : Number(text))
  if (parsed.success) return parsed.data
  const problem = `start: --heartbeat takes seconds from 0.05 to 86400, not "${text}"`
  throw new UsageError({ problem, usage: 'svc start --heartbeat 10' })
}

/**
 * Writes only the heartbeat to the configuration file, so that a reload keeps it. Warns when the environment overrides
 * it.
 */
export async function writeHeartbeat(
  { program, ports, terminal }: Pick<Context, 'program' | 'ports' | 'terminal'>,
  root: string,
  heartbeat: number | undefined,
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
