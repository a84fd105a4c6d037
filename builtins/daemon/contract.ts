// No zod here: the command line reads this before it knows whether it needs a kernel.
import { defineError, token } from '#kernel'
import type { DaemonStatus } from './status.ts'

export type { DaemonStatus } from './status.ts'

/** In `.svc/`: a plain PID for people and scripts, and all that another process needs to know of the daemon. Both are hints. */
export const PID_FILE = 'daemon.pid'
export const HOLDER_FILE = 'daemon.json'
/** There while somebody ends the daemon, with its PID: nobody is to start it again. */
export const STOP_FILE = 'daemon.stop'

/** The daemon as it described itself. Paths are relative to `.svc/` unless that would be too long for a socket. */
export interface Holder {
  pid: number
  /** What tells its process from a later one with the same PID. */
  process: string
  /** A socket on which it listens as long as it lives: the system closes it however the process ends. */
  lock: string
  /** The socket of its REST app. */
  socket: string
  /** Milliseconds since 1970, like all times here. */
  started_at: number
}

/** What is known of the project's daemon without asking it. */
export interface FoundDaemon {
  holder: Holder
  /** Somebody holds its lock. */
  alive: boolean
  /** When its loop last came round. */
  ticked_at: number
  /** That was so long ago that it would not answer. */
  stalled: boolean
  /** Whether the process with its PID is still the one that described itself: only then may it be signalled. */
  isProven(): Promise<boolean>
}

/** The life of the daemon in this process. */
export interface Daemon {
  /** Becomes the project's daemon: takes its lock, opens its socket, starts the heartbeat. @throws DaemonRunningError */
  start(): Promise<void>
  /** The reverse. Does nothing when this process is not the daemon. */
  stop(): Promise<void>
  /** The project's daemon, in whatever process it is. */
  status(): Promise<DaemonStatus>
}
export const Daemon = token<Daemon>('daemon')

export const DaemonRunningError = defineError({
  code: 'daemon_running',
  status: 409,
  title: 'Daemon running',
  sentence: (p: { pid: number | string }) =>
    `A daemon already runs for this project, with PID ${p.pid}; stop it with: svc stop`,
})
