import type { PluginHandle } from '#kernel'
import type { StreamEvent } from '#lib/stream'
import { Store } from '#platform/store/contract'
import { RESET, SUPPRESSED } from './contract.ts'
import { type TaskRow, textAfter } from './repository.ts'
import type { Piece } from './run/text.ts'
import { endOf } from './shape.ts'
import type { TaskService } from './task-service.ts'

/** What a reader finds at its place: a piece of text, which is empty where all before it is taken back. */
type FollowState = Piece | 'nothing yet' | { end: TaskRow }

/**
 * A task's stream, from a place in its text: in whatever process it runs, while it runs and afterwards. It reads when it is
 * asked for the next event, so a slow reader gets fewer and larger ones. Event ids are places: UTF-16 units from the
 * beginning, and one for each reset. A reader whose place is before a reset goes on behind it; one that has seen text gets a
 * `reset` first.
 * @param after the id of the last event that the client has seen; the beginning without it
 * @param signal ends it without a last event; without one it goes on to the end
 * @throws TaskNotFoundError when the task is removed meanwhile
 */
export async function* followTask(
  svc: PluginHandle,
  service: TaskService,
  task_id: string,
  after: string | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<StreamEvent> {
  const row = await service.find(task_id)
  let place = after !== undefined && /^\d{1,15}$/.test(after) ? Number(after) : 0
  if (row.text === 'suppressed' && after === undefined) yield { id: '0', event: 'info', data: SUPPRESSED }
  while (!signal?.aborted) {
    const live = service.findRun(task_id)?.text
    let isLost = false
    if (live) {
      // A signal that is listened to once for the whole of it costs a reader nothing for each word.
      signal?.addEventListener('abort', live.wake)
      try {
        for (let piece = live.readAfter(place); piece && !signal?.aborted; piece = live.readAfter(place)) {
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
      // Another process has the task, and knows only what was written down.
      place = 0
      yield { id: '0', event: 'reset', data: RESET }
    }
    const found = await look(svc, service, task_id, place, signal)
    if (found === 'nothing yet') continue
    if ('end' in found) {
      yield { id: String(place), ...endOf(found.end) }
      return
    }
    yield* eventsOf(found, place)
    place = found.until
  }
}

/** The event of a piece; none for a reset where nothing was seen before. */
function* eventsOf({ until, text }: Piece, place: number): Generator<StreamEvent> {
  const id = String(until)
  if (text !== '') yield { id, event: 'token', data: { text: text.slice(place - until) } }
  else if (place > 0) yield { id, event: 'reset', data: RESET }
}

/** What the database knows, of one that does not run here or whose text is not in memory any more. */
async function look(
  svc: PluginHandle,
  service: TaskService,
  task_id: string,
  place: number,
  signal: AbortSignal | undefined,
): Promise<FollowState> {
  // First the row, then the text: what ended before was written together with its last words.
  const row = await service.find(task_id)
  const piece = await textAfter(svc.use(Store), task_id, place)
  if (piece) return piece
  if (row.status !== 'running') return { end: row }
  await service.waitForOtherProcess(row, signal)
  return 'nothing yet'
}
