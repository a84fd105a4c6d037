import type { Ports } from '#kernel'
import type { SystemdUnit } from './contract.ts'

/** Returns the systemd unit that runs this process; undefined when none does. */
export async function findUnit({ files, env }: Pick<Ports, 'files' | 'env'>): Promise<SystemdUnit | undefined> {
  // A shell in a unit passes the variable on to what it starts. A unit may start this process by a wrapper.
  if (![process.pid, process.ppid].some(pid => env.SYSTEMD_EXEC_PID === String(pid))) return undefined
  const groups = await files.readFile('/proc/self/cgroup', 'utf8').catch(() => '')
  const path = /^\d+:(?:name=systemd)?:(.+)$/m.exec(groups)?.[1] ?? ''
  const name = path.split('/').findLast(step => step.endsWith('.service'))
  return name === undefined ? undefined : { name, user: path.includes('/user@') }
}
