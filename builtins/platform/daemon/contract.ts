import { defineError, type PluginHandle, point, token, type Undo } from '#kernel'
import type { DaemonStatus } from './shape.ts'

export { OWN_NAME, STOP_FILE } from '#lib/daemon-files'
export type { DaemonStatus } from './shape.ts'

/** A host and a TCP port; port 0 lets the system choose. */
export interface TcpAddress {
  host: string
  port: number
}

/** Answers requests at the daemon's socket. */
export interface DaemonListener {
  listen(address: { socket: string }): Promise<{ close(): Promise<void> }>
  /** Returns the TCP addresses at which it also listens in this process. */
  addresses(): TcpAddress[]
}
export const DaemonListener = token<DaemonListener>('daemon_listener')

/** A unit of systemd. */
export interface SystemdUnit {
  /** Name, such as `svc-notes-1a2b3c.service`. */
  name: string
  /** Whether the user's systemd runs it, not that of the machine. */
  user: boolean
}

/** A daemon's description of itself. Paths are relative to `.svc/` unless that would be too long for a socket. */
export interface Holder {
  pid: number
  /** Identity that distinguishes its process from a later one with the same PID. */
  process: string
  /** Socket on which the daemon listens as long as it lives: the system closes it however the process ends. */
  lock: string
  /** The socket of its REST app. */
  socket: string
  /** Address at which its process serves the REST app, if it does. */
  serves?: TcpAddress
  /** Whether it was started with `--detach`, so `svc restart` brings it back without a terminal. */
  detached?: boolean
  /** Whether it was started with `--dev`. */
  dev?: boolean
  /** The systemd unit that runs it, and has to restart it. */
  unit?: SystemdUnit
  /** Milliseconds since 1970, like all times here. */
  started_at: number
}

/** What is known of a daemon without a request to it. */
export interface FoundDaemon {
  name: string
  /** Whether it joined the project's own daemon. */
  joined: boolean
  holder: Holder
  /** Whether a process holds its lock. */
  alive: boolean
  /** Time of the last tick of its loop. */
  ticked_at: number
  /** Whether its last tick is so long ago that it would not answer. */
  stalled: boolean
  /** Whether its last tick failed, as on a full disk. */
  failing: boolean
  /**
   * Returns whether the process with its PID is still the one that wrote the description: only then may it receive
   * signals.
   */
  isProven(): Promise<boolean>
}

/** Starts, stops and finds the project's daemon. */
export interface Daemon {
  /**
   * Becomes the project's daemon: takes its lock, opens its socket, starts the heartbeat. With `join`, drives agents
   * beside a daemon that already runs.
   * @throws DaemonRunningError
   */
  start(options?: { join?: boolean }): Promise<void>
  /**
   * Returns whether this process drives agents. Waits for a start in progress, because its server may listen before
   * that.
   */
  isDriving(): Promise<boolean>
  /** @deprecated Use `isDriving`. */
  drives?: Daemon['isDriving']
  /** Returns whether any live process drives agents of the project. */
  isDriven(): Promise<boolean>
  /** Stops being the daemon. Does nothing if this process is not the daemon. */
  stop(): Promise<void>
  /** Returns the status of the project's daemon, in whichever process it runs. */
  status(): Promise<DaemonStatus>
  /** Finds the project's daemon without a request to it or to the database. */
  find(): Promise<FoundDaemon | undefined>
  /** Returns all daemons: the project's own, and those that joined it. */
  list(): Promise<FoundDaemon[]>
}
export const Daemon = token<Daemon>('daemon')

/**
 * Reads whether the operator has frozen the daemon; then no cycle enters a phase, and nothing that costs money may
 * begin.
 */
export interface Freeze {
  /** Reads the database each time, which is cheap, so a freeze takes effect in every process at once. */
  isFrozen(): Promise<boolean>
  /** @deprecated Use `isFrozen`. */
  frozen?: Freeze['isFrozen']
  /** Returns when the freeze began, in milliseconds; null while nothing is frozen. */
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

/** Work that a process does once, before its first cycle, if it is to drive agents. */
export interface DaemonStart {
  name: string
  /**
   * Called in the process that has become the project's daemon.
   * @returns a function that is called when it stops, after its last cycle
   */
  begin(): Promise<Undo | void>
  /** Called in a process that joined the daemon. Default: nothing. */
  join?(): Promise<Undo | void>
}
export const DaemonStarts = point<DaemonStart>('daemon_starts', {
  key: start => start.name,
  has: { name: 'text', begin: 'function' },
})

/** Part of the daemon's status that another module provides. */
export interface DaemonStatusPart {
  name: string
  read(): Promise<Partial<DaemonStatus>>
}
export const DaemonStatusParts = point<DaemonStatusPart>('daemon_status_parts', {
  key: part => part.name,
  has: { name: 'text', read: 'function' },
})

/** Returns the problems that modules report in their parts of the status, one sentence each, in printable ASCII. */
export async function reportedProblems(svc: Pick<PluginHandle, 'list'>): Promise<string[]> {
  const parts = await Promise.all(svc.list(DaemonStatusParts).map(part => part.read()))
  return parts.flatMap(({ problems = [] }) => problems)
}

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
