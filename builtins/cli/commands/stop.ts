import { join } from 'node:path'
import { defineError, type Ports, replaceFile } from '#kernel'
import { type FoundDaemon, HOLDER_FILE, PID_FILE, STOP_FILE } from '../../daemon/contract.ts'
import type { Context, HandWritten } from '../context.ts'
import { UsageError } from '../contract.ts'
import { findProject } from '../project.ts'

const LOOK_MS = 50
/** After SIGKILL the system needs a moment, in milliseconds. */
const KILL_MS = 5_000

const NotProvenError = defineError({
  code: 'not_proven',
  status: 409,
  title: 'Not proven',
  sentence: (p: { pid: number }) =>
    `A daemon runs, but the process with PID ${p.pid} is not provably it (it may run in a container or on another machine); nothing was signalled.`,
})
const StillRunningError = defineError({
  code: 'still_running',
  status: 500,
  title: 'Still running',
  sentence: (p: { pid: number }) => `The daemon with PID ${p.pid} does not end, not even killed.`,
})

/** Asks the daemon to end, and kills it when it has not within the timeout. Needs neither its configuration nor its answer. */
const stop: HandWritten = async ({ timeout }, context) => {
  const seconds = timeoutOf(timeout)
  const root = await findProject(context.ports, context.named)
  context.terminal.out(await stopDaemon(root, seconds, context))
  return 0
}
export default stop

/** @returns what happened, in a sentence */
export async function stopDaemon(root: string, timeout_s: number, { house, ports }: Context): Promise<string> {
  const svc = join(root, '.svc')
  const found = await house.findDaemon(ports, svc)
  if (!found?.alive) {
    await removeFiles(ports, svc)
    return 'The daemon is not running.'
  }
  const { pid } = found.holder
  if (!(await found.isProven())) throw new NotProvenError({ pid })
  const mark = join(svc, STOP_FILE)
  // A full disk keeps nobody from stopping.
  await replaceFile(ports.files, mark, `${pid}\n`).catch(() => {})
  try {
    process.kill(pid, 'SIGTERM')
    if (await ends(ports, found, timeout_s * 1000)) return `The daemon (PID ${pid}) has stopped.`
    // Looked at once more: in the meantime the PID may have gone to another process.
    if (await found.isProven()) process.kill(pid, 'SIGKILL')
    if (!(await ends(ports, found, KILL_MS))) throw new StillRunningError({ pid })
    await removeFiles(ports, svc)
    return `The daemon (PID ${pid}) did not stop within ${timeout_s} s and was killed. Nothing durable is lost.`
  } finally {
    await ports.files.rm(mark, { force: true }).catch(() => {})
  }
}

async function ends(ports: Ports, found: FoundDaemon, limit_ms: number): Promise<boolean> {
  const until = ports.clock.monotonic() + limit_ms
  while (await found.isProven()) {
    if (ports.clock.monotonic() >= until) return false
    await ports.clock.sleep(LOOK_MS)
  }
  return true
}

/** What a daemon that could not clean up has left. */
async function removeFiles({ files }: Ports, svc: string): Promise<void> {
  for (const name of [HOLDER_FILE, PID_FILE]) await files.rm(join(svc, name), { force: true }).catch(() => {})
}

/** @throws UsageError */
export function timeoutOf(text: unknown): number {
  const seconds = text === undefined ? 30 : String(text).trim() === '' ? Number.NaN : Number(text)
  if (seconds >= 0 && seconds <= 86_400) return seconds
  throw new UsageError({
    problem: `stop: --timeout takes seconds from 0 to 86400, not "${text}"`,
    usage: 'svc stop --timeout 30',
  })
}
