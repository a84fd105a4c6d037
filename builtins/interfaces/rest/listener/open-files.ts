import type { Ports } from '#kernel'
import type { ServerConfig } from '../contract.ts'

/**
 * File descriptors reserved for the process: its database, logs, watchers and pipes, and files of agents and their
 * programs.
 */
const RESERVE = 64
/** Minimum number of connections, even under a low limit on open files: an operator must be able to find out why. */
const FEWEST_CONNECTIONS = 16

/** Maximum numbers of connections and streams of clients at once. */
export interface Capacity {
  streams: number
  connections: number
  /** Describes for people which limit determines the number of streams. */
  limit: string
}

/**
 * Returns the number of connections and streams for which the process has file descriptors. Streams get half of what
 * its limit on open files leaves after a reserve, so that agents keep running however many clients connect.
 * @param open_files that limit; Infinity where there is none or it is unknown
 */
export function capacityFor({ max_streams, max_connections }: ServerConfig, open_files: number): Capacity {
  const left = Math.max(0, open_files - RESERVE)
  const streams = Math.max(1, Math.min(max_streams, Math.floor(left / 2)))
  const connections = Math.min(max_connections, Math.max(FEWEST_CONNECTIONS, left))
  const limit = streams < max_streams ? `the limit of ${open_files} open files` : 'server.max_streams'
  return { streams, connections, limit }
}

/** Returns the process's limit on open files on Linux; Infinity elsewhere. */
export async function openFilesLimit({ files }: Pick<Ports, 'files'>): Promise<number> {
  const text = await files.readFile('/proc/self/limits', 'utf8').catch(() => '')
  const [, limit] = /^Max open files\s+(\d+)/m.exec(text) ?? []
  return limit === undefined ? Number.POSITIVE_INFINITY : Number(limit)
}
