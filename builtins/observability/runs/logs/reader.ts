import type { Ports } from '#kernel'
import type { LoggedEvent } from '../contract.ts'
import { linesFromEnd, scanLines, segmentsOf } from './log.ts'

export interface ReadOptions {
  files: Ports['files']
  signal: AbortSignal
  /** Events up to this seq are passed over. */
  after: number
  /** Only this agent's events. */
  agent_id?: string | undefined
  /** Takes an event; false ends the reading. */
  take: (event: LoggedEvent) => boolean
}

/**
 * Reads a run's log in its order, in pieces, each event once however often its line was written.
 * @returns whether the log was read to its end, and how many lines could not be read
 */
export async function readLog(folder: string, options: ReadOptions): Promise<{ complete: boolean; broken: number }> {
  const { files, signal, after, agent_id } = options
  // Looked for in the bytes: a line of another agent costs no parsing.
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
  /** Which events count; all without it. */
  isWanted?: (event: LoggedEvent) => boolean
}

/**
 * The newest events of a run, oldest first, each once. The log is read backwards from its end: what came before costs nothing.
 * @returns also whether nothing older is wanted, and how many lines of what was read could not be
 */
export async function readNewest(
  folder: string,
  { files, signal, limit, agent_id, before = Number.POSITIVE_INFINITY, isWanted = () => true }: NewestOptions,
): Promise<{ events: LoggedEvent[]; complete: boolean; broken: number }> {
  const needle = agent_id === undefined ? undefined : Buffer.from(`"agent_id":${JSON.stringify(agent_id)}`)
  /** Newest first. */
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

/** The seq with which our lines begin, read without parsing them. */
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
