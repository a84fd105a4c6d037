// No zod here: the command line reads this before it knows whether it needs a kernel.

import { defineError, point, token, type Undo } from '#kernel'
import type { DaemonStatus } from './shape.ts'

export type { DaemonStatus } from './shape.ts'

/**
 * What the project's own daemon is called; one that joined it is `daemon-<8 hex>`. In `.svc/` each leaves a plain PID for people
 * and scripts (`<name>.pid`), and all that another process needs to know of it (`<name>.json`). Both are hints.
 */
export const OWN_NAME = 'daemon'
/** Exists while the daemon is being stopped, with its PID: it must not be started again then. */
export const STOP_FILE = 'daemon.stop'

/** A TCP port (0: the system chooses) of a host. */
export interface TcpAddress {
  host: string
  port: number
}

/** What answers requests at the daemon's socket. */
export interface DaemonListener {
  listen(address: { socket: string }): Promise<{ close(): Promise<void> }>
  /** The hosts and ports where it answers in this process too. */
  addresses(): TcpAddress[]
}
export const DaemonListener = token<DaemonListener>('daemon_listener')

/** The daemon as it described itself. Paths are relative to `.svc/` unless that would be too long for a socket. */
export interface Holder {
  pid: number
  /** Identity that distinguishes its process from a later one with the same PID. */
  process: string
  /** A socket on which it listens as long as it lives: the system closes it however the process ends. */
  lock: string
  /** The socket of its REST app. */
  socket: string
  /** Address at which its process serves the REST app, if it does. */
  serves?: TcpAddress
  /** It was started with `--detach`, so `svc restart` brings it back without a terminal. */
  detached?: boolean
  /** It was started with `--dev`. */
  dev?: boolean
  /** Milliseconds since 1970, like all times here. */
  started_at: number
}

/** What is known of the project's daemon without asking it. */
export interface FoundDaemon {
  name: string
  /** Whether it joined the project's own daemon. */
  joined: boolean
  holder: Holder
  /** Whether a process holds its lock. */
  alive: boolean
  /** Time of the last tick of its loop. */
  ticked_at: number
  /** That was so long ago that it would not answer. */
  stalled: boolean
  /** Whether its last tick failed, as on a full disk. */
  failing: boolean
  /** Whether the process with its PID is still the one that described itself: only then may it be signalled. */
  isProven(): Promise<boolean>
}

/** The life of the daemon in this process. */
export interface Daemon {
  /**
   * Becomes the project's daemon: takes its lock, opens its socket, starts the heartbeat. With `join` it drives agents beside
   * the one that runs, if one does. @throws DaemonRunningError
   */
  start(options?: { join?: boolean }): Promise<void>
  /** Whether agents are driven in this process. One that is about to is waited for: its server may listen before that. */
  isDriving(): Promise<boolean>
  /** @deprecated Use `isDriving`. */
  drives?: Daemon['isDriving']
  /** Whether any process that lives drives agents of the project. */
  isDriven(): Promise<boolean>
  /** The reverse. Does nothing when this process is not the daemon. */
  stop(): Promise<void>
  /** The project's daemon, in whatever process it is. */
  status(): Promise<DaemonStatus>
  /** What is known of it without asking it or the database. */
  find(): Promise<FoundDaemon | undefined>
  /** Returns all daemons: the project's own, and those that joined it. */
  list(): Promise<FoundDaemon[]>
}
export const Daemon = token<Daemon>('daemon')

/** Whether the operator has frozen the daemon: no cycle enters a phase then, and nothing that costs may begin. */
export interface Freeze {
  /** Read from the database each time, and cheap: a freeze holds at once in every process. */
  isFrozen(): Promise<boolean>
  /** @deprecated Use `isFrozen`. */
  frozen?: Freeze['isFrozen']
  /** Since when, in milliseconds; null while nothing is frozen. */
  since(): Promise<number | null>
  /** The same as an SQL condition, evaluated in the statement that reserves a model call. Absent where another plugin provides this service. */
  readonly condition?: string
}
export const Freeze = token<Freeze>('freeze')

declare module '#kernel' {
  interface Events {
    daemon_paused: Record<string, never>
    daemon_resumed: Record<string, never>
  }
}

/** What has to happen in a process that is to drive agents, once, before its first cycle. */
export interface DaemonStart {
  name: string
  /** Called in the process that has become the project's daemon. @returns what to run when it stops, after its last cycle */
  begin(): Promise<Undo | void>
  /** Called in a process that joined the daemon. Default: nothing. */
  join?(): Promise<Undo | void>
}
export const DaemonStarts = point<DaemonStart>('daemon_starts', {
  key: start => start.name,
  has: { name: 'text', begin: 'function' },
})

/** What another module knows of the daemon's status. */
export interface DaemonStatusPart {
  name: string
  read(): Promise<Partial<DaemonStatus>>
}
export const DaemonStatusParts = point<DaemonStatusPart>('daemon_status_parts', {
  key: part => part.name,
  has: { name: 'text', read: 'function' },
})

export const DaemonFrozenError = defineError({
  code: 'daemon_frozen',
  status: 409,
  title: 'Daemon frozen',
  message: () => 'The daemon is frozen, so no model is called for its agents; resume it with: svc daemon resume',
})
export const DaemonRunningError = defineError({
  code: 'daemon_running',
  status: 409,
  title: 'Daemon running',
  message: (p: { pid: number | string }) =>
    `A daemon already runs for this project, with PID ${p.pid}; stop it with: svc stop`,
})
