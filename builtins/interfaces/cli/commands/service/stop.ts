import { join } from 'node:path'
import { defineError, type Ports } from '#kernel'
import { OWN_NAME, STOP_FILE } from '#lib/daemon-files'
import { replaceFile } from '#lib/yaml'
import type { FoundDaemon, SystemdUnit } from '#platform/daemon/contract'
import type { Context, HandWritten } from '../../context.ts'
import { findProject } from '../../project/project.ts'
import { print } from '../../screen/printable.ts'

const LOOK_MS = 50
/** Time to wait for a process to end after SIGKILL, in milliseconds. */
const KILL_MS = 5_000

const NotProvenError = defineError({
  code: 'not_proven',
  status: 409,
  title: 'Daemon process not verified',
  message: (p: { pid: number }) =>
    `A daemon runs, but svc cannot verify that the process with PID ${p.pid} is that daemon (it may run in a container or on another machine), so no signal was sent.`,
})
const StillRunningError = defineError({
  code: 'still_running',
  status: 500,
  title: 'Still running',
  message: (p: { pid: number }) => `The daemon with PID ${p.pid} still runs, although it was sent SIGKILL.`,
})

const NoSuchDaemonError = defineError({
  code: 'no_such_daemon',
  status: 404,
  title: 'No such daemon',
  message: (p: { pid: number; running: number[] }) =>
    `No daemon of this project has the PID ${p.pid}; ${p.running.length > 0 ? `running daemons: ${p.running.join(', ')}` : 'no daemon runs'}.`,
})

/**
 * Stops the daemon, and kills it if it has not ended within the timeout. Needs neither its configuration nor its
 * response.
 */
const stop: HandWritten = async ({ timeout, pid }, context) => {
  const seconds = Number(timeout ?? 30)
  const root = await findProject(context.ports, context.named)
  const stopped = await stopDaemons(root, seconds, context, pid as number | undefined)
  return print(context, { stopped }, inWords(stopped, seconds))
}
export default stop

/**
 * Stops all daemons of the project, or the one with this PID. The project's own daemon is last, because it closes what
 * all share.
 * @returns the daemons that ran, and whether they had to be killed
 */
export async function stopDaemons(
  root: string,
  timeout_s: number,
  context: Context,
  pid?: number,
): Promise<StoppedDaemon[]> {
  const { program, ports } = context
  const svc = join(root, '.svc')
  const found = await program.findDaemons(ports, svc)
  // In a folder that this user cannot read, a daemon may run all the same.
  if (found.length === 0) await ports.files.readdir(svc)
  for (const each of found) if (!each.alive) await removeFiles(ports, svc, each)
  const running = found.filter(({ alive }) => alive).reverse()
  const matching = running.filter(({ holder }) => pid === undefined || holder.pid === pid)
  if (pid !== undefined && matching.length === 0) {
    throw new NoSuchDaemonError({ pid, running: running.map(({ holder }) => holder.pid) })
  }
  if (matching.length === 0) {
    // An unreadable description counts as missing; its PID file is removed too.
    if (found.length === 0) await removeFiles(ports, svc, { name: OWN_NAME })
    return []
  }
  const stopped: StoppedDaemon[] = []
  for (const each of matching) stopped.push(await stopOne(ports, svc, each, timeout_s))
  return stopped
}

export interface StoppedDaemon {
  pid: number
  /** Whether the daemon was killed because it had not ended in time. */
  killed: boolean
  /** The systemd unit that ran it. */
  unit?: SystemdUnit
}

/** Describes the result for people. */
export function inWords(stopped: readonly StoppedDaemon[], timeout_s: number): string {
  if (stopped.length === 0) return 'The daemon is not running.'
  const sentence = ({ pid, killed, unit }: StoppedDaemon) => {
    const end = killed
      ? `The daemon (PID ${pid}) did not stop within ${timeout_s} s and was killed. No stored data is lost.`
      : `The daemon (PID ${pid}) has stopped.`
    return unit ? `${end} systemd ran it; start it again with: ${systemctlLine('start', unit)}` : end
  }
  return stopped.map(sentence).join('\n')
}

/** Returns the command that does this with a unit. */
export function systemctlLine(verb: 'start' | 'restart', { name, user }: SystemdUnit): string {
  return `systemctl ${user ? '--user ' : ''}${verb} ${name}`
}

async function stopOne(ports: Ports, svc: string, found: FoundDaemon, timeout_s: number): Promise<StoppedDaemon> {
  const { pid, unit } = found.holder
  const of = unit ? { unit } : {}
  if (!(await found.isProven())) throw new NotProvenError({ pid })
  const mark = join(svc, STOP_FILE)
  // A full disk must not prevent the stop.
  await replaceFile(ports.files, mark, `${pid}\n`).catch(() => {})
  try {
    process.kill(pid, 'SIGTERM')
    if (await waitForEnd(ports, found, timeout_s * 1000)) return { pid, killed: false, ...of }
    // Checked again, because the PID may have been reused in the meantime.
    if (await found.isProven()) process.kill(pid, 'SIGKILL')
    if (!(await waitForEnd(ports, found, KILL_MS))) throw new StillRunningError({ pid })
    await removeFiles(ports, svc, found)
    return { pid, killed: true, ...of }
  } finally {
    await ports.files.rm(mark, { force: true }).catch(() => {})
  }
}

async function waitForEnd(ports: Ports, found: FoundDaemon, limit_ms: number): Promise<boolean> {
  const until = ports.clock.monotonic() + limit_ms
  while (await found.isProven()) {
    if (ports.clock.monotonic() >= until) return false
    await ports.clock.sleep(LOOK_MS)
  }
  return true
}

/** Removes the files of a daemon that could not clean up. */
async function removeFiles({ files }: Ports, svc: string, { name }: Pick<FoundDaemon, 'name'>): Promise<void> {
  for (const end of ['json', 'pid']) await files.rm(join(svc, `${name}.${end}`), { force: true }).catch(() => {})
}
