import type { PluginHandle } from '#kernel'
import type { StreamEvent } from '#lib/stream'
import { Store } from '#platform/store/contract'
import { isWaiting, RESET, SUPPRESSED } from './contract.ts'
import { type TaskRow, textAfter } from './repository.ts'
import type { LiveText, Piece } from './run/text.ts'
import { endOf } from './shape.ts'
import type { TaskService } from './task-service.ts'

/** What a reader finds at its position: a piece of text (empty for a reset), nothing yet, or the end. */
type FollowState = Piece | 'nothing yet' | { end: TaskRow }

interface FollowOptions {
  /** Whether to yield events of tool calls, too. */
  showsCalls?: boolean
  /** Whether to go on when the task waits now for a decision or an answer. */
  waits?: boolean
}

/**
 * Streams a task from a position in its text, during and after its run, in whatever process it runs. Reads only when
 * the next event is requested, so slow readers get fewer and larger events. Event ids are positions: UTF-16 units from
 * the beginning, plus one for each reset. A reader positioned before a reset continues after it, and gets a `reset`
 * first if it has seen text. Events of tool calls come only from a run in this process.
 * @param after id of the last event that the client has seen; without it, from the beginning
 * @param signal ends the stream without a final event
 * @throws TaskNotFoundError if the task is removed meanwhile
 */
export async function* followTask(
  svc: PluginHandle,
  service: TaskService,
  task_id: string,
  after: string | undefined,
  signal: AbortSignal | undefined,
  { showsCalls = false, waits = false }: FollowOptions = {},
): AsyncGenerator<StreamEvent> {
  const row = await service.find(task_id)
  const passed = waits && isWaiting(row.status) ? row : undefined
  let place = after !== undefined && /^\d{1,15}$/.test(after) ? Number(after) : 0
  if (row.text === 'suppressed' && after === undefined) yield { id: '0', event: 'info', data: SUPPRESSED }
  const calls = new CallReader(showsCalls)
  while (!signal?.aborted) {
    const live = service.findRun(task_id)?.text
    let isLost = false
    if (live) {
      // One abort listener for the whole stream avoids a cost for each word.
      signal?.addEventListener('abort', live.wake)
      try {
        for (let piece = live.readAfter(place); piece && !signal?.aborted; piece = live.readAfter(place)) {
          yield* calls.read(live, place)
          if (piece.until > place) {
            yield* eventsOf(piece, place)
            place = piece.until
          } else if (live.isComplete) {
            isLost = live.isUnsaved
            break
          } else await live.waitForChange()
        }
      } finally {
        signal?.removeEventListener('abort', live.wake)
      }
      if (signal?.aborted) return
    }
    if (isLost && place > 0) {
      // Another process continues the task and knows only the stored text.
      place = 0
      yield { id: '0', event: 'reset', data: RESET }
    }
    const found = await look(svc, service, task_id, place, signal)
    if (found === 'nothing yet') continue
    if ('end' in found && passed && isSameWait(found.end, passed)) await service.waitForDecision(signal)
    else if ('end' in found) {
      yield { id: String(place), ...endOf(found.end) }
      return
    } else {
      yield* eventsOf(found, place)
      place = found.until
    }
  }
}

/** Returns whether a task waits for nothing that it did not wait for before: some of it may be decided by now. */
function isSameWait(now: TaskRow, before: TaskRow): boolean {
  const awaitedIds = (row: TaskRow) => [...JSON.parse(row.approval_ids), ...JSON.parse(row.question_ids)] as string[]
  return isWaiting(now.status) && awaitedIds(now).every(id => awaitedIds(before).includes(id))
}

/** Reads the events of tool calls in a task's runs, each once. */
class CallReader {
  readonly #isOn: boolean
  #live: LiveText | undefined
  #seen = 0

  constructor(isOn: boolean) {
    this.#isOn = isOn
  }

  /** Yields the next events up to a position in the text. */
  *read(live: LiveText, place: number): Generator<StreamEvent> {
    if (!this.#isOn) return
    if (this.#live !== live) this.#seen = 0
    this.#live = live
    for (let next = live.calls[this.#seen]; next && next.at <= place; next = live.calls[++this.#seen])
      yield { id: String(place), event: next.event, data: next.data }
  }
}

/** Yields the event of a piece; none for a reset before any text was seen. */
function* eventsOf({ until, text }: Piece, place: number): Generator<StreamEvent> {
  const id = String(until)
  if (text !== '') yield { id, event: 'token', data: { text: text.slice(place - until) } }
  else if (place > 0) yield { id, event: 'reset', data: RESET }
}

/** Reads from the database a task that runs elsewhere, or text that is no longer in memory. */
async function look(
  svc: PluginHandle,
  service: TaskService,
  task_id: string,
  place: number,
  signal: AbortSignal | undefined,
): Promise<FollowState> {
  // The row is read before the text: once the row shows the end, all text is stored, because both are written together.
  const row = await service.find(task_id)
  const piece = await textAfter(svc.use(Store), task_id, place)
  if (piece) return piece
  if (row.status !== 'running') return { end: row }
  await service.waitForOtherProcess(row, signal)
  return 'nothing yet'
}
