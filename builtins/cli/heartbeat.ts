import { join } from 'node:path'
import { Config, HeartbeatConfig, type Ports } from '#kernel'
import { UsageError } from './contract.ts'

/** The value of `--heartbeat`. @throws UsageError, before anything is written */
export function heartbeatOf(text: unknown): number | undefined {
  if (text === undefined) return undefined
  const parsed = HeartbeatConfig.shape.heartbeat.safeParse(String(text).trim() === '' ? Number.NaN : Number(text))
  if (parsed.success) return parsed.data
  const problem = `start: --heartbeat takes seconds from 0.05 to 86400, not "${text}"`
  throw new UsageError({ problem, usage: 'svc start --heartbeat 10' })
}

/** Into the file, so that the first reload keeps it; nothing else of what is in force gets there. */
export async function writeHeartbeat(ports: Ports, root: string, heartbeat: number | undefined): Promise<void> {
  if (heartbeat === undefined) return
  const config = new Config(join(root, '.svc', 'config.yaml'), ports)
  await config.open()
  config.prepare('daemon', HeartbeatConfig, 'kernel').add()
  await config.patch({ daemon: { heartbeat } })
}
