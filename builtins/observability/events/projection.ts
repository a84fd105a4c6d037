import { join } from 'node:path'
import { errorMessage, type PluginHandle } from '#kernel'
import { getValue, newestSeq, Store, setValue } from '#platform/store/contract'
import { Journal } from './journal.ts'
import { eventsBetween, eventsOfAgent } from './repository.ts'

/** Number of seqs read, and of lines written, at a time. */
const SPAN = 1_000
const AGENTS_REMEMBERED = 10_000
const CURSOR = { namespace: 'events', key: 'event_log' }

/**
 * Writes the event log: `.svc/sessions/<agent>/events.jsonl`, one line per event of an agent (`_service` for events
 * without one). It is a projection of the table, written by the daemon. Each file continues after its own last line, so
 * that it never repeats or misses an event, even after a crash or a loss of data in the file.
 */
export class EventLog {
  readonly #svc: PluginHandle
  readonly #fsync: () => boolean
  readonly #journals = new Map<string, Journal>()
  #problem: string | undefined
  /** Seq of the newest event known to be written. */
  #newest: number | undefined

  constructor(svc: PluginHandle, fsync: () => boolean) {
    this.#svc = svc
    this.#fsync = fsync
  }

  /** Writes until the signal is aborted, and then writes the remaining events. */
  async run(signal: AbortSignal): Promise<void> {
    const { log } = this.#svc
    let seen = ''
    for (let ending = false; !ending; ) {
      seen = await this.#svc.use(Store).waitForChange(seen, signal)
      ending = signal.aborted
      try {
        await this.write()
        this.#problem = undefined
      } catch (error) {
        // A full disk is logged once; the missing lines are written when there is space again.
        const problem = errorMessage(error)
        if (problem !== this.#problem)
          log.warn({}, `cannot write the event log; missing lines are written later: ${problem}`)
        this.#problem = problem
        seen = ''
      }
    }
  }

  /** Writes the events since the last call. */
  async write(): Promise<void> {
    const store = this.#svc.use(Store)
    const newest = await newestSeq(store)
    if (newest === this.#newest) return
    const begin = await this.#cursor(store)
    let cursor = begin
    for (; cursor < newest; await this.#svc.clock.yield()) {
      const upTo = Math.min(cursor + SPAN, newest)
      const events = await eventsBetween(store, cursor, upTo)
      for (const agent of new Set(events.map(event => event.agent_id ?? ''))) await this.#append(store, agent, upTo)
      cursor = upTo
    }
    if (cursor > begin) await store.apply([setValue({ ...CURSOR, value: cursor })])
    this.#newest = newest
  }

  async #append(store: Store, agent: string, upTo: number): Promise<void> {
    const journal = this.#journal(agent)
    for (let last = await journal.last(); ; last = await journal.last()) {
      const events = await eventsOfAgent(store, agent, last, upTo, SPAN)
      await journal.append(events, this.#fsync())
      if (events.length < SPAN) return
    }
  }

  #journal(agent: string): Journal {
    const known = this.#journals.get(agent)
    if (known) return known
    if (this.#journals.size >= AGENTS_REMEMBERED) this.#journals.clear()
    const { project, ports, log } = this.#svc
    const path = join(project.svc, 'sessions', agent === '' ? '_service' : agent, 'events')
    const journal = new Journal({ files: ports.ownFiles, path, warn: problem => log.warn({}, problem) })
    this.#journals.set(agent, journal)
    return journal
  }

  /** Returns the seq up to which the files are complete. */
  writtenSeq(): Promise<number> {
    return this.#cursor(this.#svc.use(Store))
  }

  async #cursor(store: Store): Promise<number> {
    return Number((await getValue(store, CURSOR)) ?? 0)
  }
}
