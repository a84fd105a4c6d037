import type { Ports } from '#kernel'
import type { LoggedEvent } from '../contract.ts'
import { linesFromEnd, scanLines, segmentsOf } from './log.ts'

export interface ReadOptions {
  files: Ports['files']
  signal: AbortSignal
  /** Events up to this seq are skipped. */
  after: number
  /** Only this agent's events. */
  agent_id?: string | undefined
  /** Called with an event; false ends the reading. */
  take: (event: LoggedEvent) => boolean
}

/**
 * Reads a run's log in order and in chunks; repeated lines count once.
 * @returns whether the log was read to its end, and the number of unreadable lines
 */
export async function readLog(folder: string, options: ReadOptions): Promise<{ complete: boolean; broken: number }> {
  const { files, signal, after, agent_id } = options
  // Searching the bytes saves parsing lines of other agents.
  const needle = agent_id === undefined ? undefined : Buffer.from(`"agent_id":${JSON.stringify(agent_id)}`)
  let seen = after
  let broken = 0
  const take = (line: Buffer): boolean => {
    const sequence = seqOf(line)
    if (sequence !== undefined && (sequence <= seen || (needle && !line.includes(needle)))) return true
    const event = parse(line)
    if (!event) broken++
    if (!event || event.seq <= seen || (agent_id !== undefined && event.agent_id !== agent_id)) return true
    if (!options.take(event)) return false
    seen = event.seq
    return true
  }
  const segments = await segmentsOf(files, folder)
  const begun = segments.findLastIndex(({ first }) => first <= after + 1)
  for (const { path } of segments.slice(Math.max(begun, 0))) {
    if (!(await scanLines(path, { files, signal, take, skip: () => void broken++ }))) return { complete: false, broken }
  }
  return { complete: true, broken }
}

interface NewestOptions extends Pick<ReadOptions, 'files' | 'signal' | 'agent_id'> {
  limit: number
  /** Only events before this seq. */
  before?: number | undefined
  /** Returns whether an event is included. Default: all are. */
  isWanted?: (event: LoggedEvent) => boolean
}

/**
 * Returns the newest events of a run, oldest first, each once. Reads the log backwards, so older events cost nothing.
 * @returns also whether no older matching events exist, and the number of unreadable lines
 */
export async function readNewest(
  folder: string,
  { files, signal, limit, agent_id, before = Number.POSITIVE_INFINITY, isWanted = () => true }: NewestOptions,
): Promise<{ events: LoggedEvent[]; complete: boolean; broken: number }> {
  const needle = agent_id === undefined ? undefined : Buffer.from(`"agent_id":${JSON.stringify(agent_id)}`)
  /** Events found so far, newest first. */
  const found: LoggedEvent[] = []
  let broken = 0
  let end = before
  for (const { path, first } of (await segmentsOf(files, folder)).reverse()) {
    if (first >= before) continue
    for await (const lines of linesFromEnd(path, { files, signal })) {
      let seen = 0
      const fresh = lines.filter(line => {
        const seq = seqOf(line)
        if (seq === undefined) broken++
        if (seq === undefined || seq <= seen || seq >= end) return false
        seen = seq
        return true
      })
      for (const line of fresh.toReversed()) {
        if (needle && !line.includes(needle)) continue
        const event = parse(line)
        if (!event) broken++
        if (!event || (agent_id !== undefined && event.agent_id !== agent_id) || !isWanted(event)) continue
        if (found.length === limit) return { events: found.reverse(), complete: false, broken }
        found.push(event)
      }
      if (fresh.length > 0) end = seqOf(fresh[0]!)!
    }
  }
  return { events: found.reverse(), complete: true, broken }
}

/** Returns the seq at the beginning of a line, without parsing the line. */
function seqOf(line: Buffer): number | undefined {
  const match = /^\{"seq":(\d{1,15}),/.exec(line.toString('latin1', 0, 24))
  return match ? Number(match[1]) : undefined
}

function parse(line: Buffer | string): LoggedEvent | undefined {
  try {
    const event = JSON.parse(line.toString()) as Partial<LoggedEvent>
    const { seq, type, at, data, agent_id } = event
    const whole =
      Number.isInteger(seq) &&
      typeof type === 'string' &&
      typeof at === 'string' &&
      !Number.isNaN(Date.parse(at)) &&
      (agent_id === null || typeof agent_id === 'string') &&
      typeof data === 'object' &&
      data !== null
    return whole ? (event as LoggedEvent) : undefined
  } catch {
    return undefined
  }
}
