import type { PluginHandle, StreamEvent } from '#kernel'
import { Store } from '../store/contract.ts'
import { SUPPRESSED } from './contract.ts'
import type { TaskDesk } from './desk.ts'
import { textAfter } from './repository.ts'
import { responseOf } from './shape.ts'

/** What a reader finds at its place. */
type Found = { text: string } | 'nothing yet' | 'the end'

/**
 * A task's stream, from a place in its text: in whatever process it runs, while it runs and afterwards. It reads when it is
 * asked for the next event, so a slow reader gets fewer and larger ones. Event ids are places: UTF-16 units from the
 * beginning.
 * @param after the id of the last event that the client has seen; the beginning without it
 * @param signal ends it without a last event; without one it goes on to the end
 * @throws TaskNotFoundError when the task is removed meanwhile
 */
export async function* followTask(
  svc: PluginHandle,
  desk: TaskDesk,
  task_id: string,
  after: string | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<StreamEvent> {
  const row = await desk.find(task_id)
  let place = after !== undefined && /^\d{1,15}$/.test(after) ? Number(after) : 0
  if (row.text === 'suppressed' && after === undefined) yield { id: '0', event: 'info', data: SUPPRESSED }
  while (!signal?.aborted) {
    const found = await look(svc, desk, task_id, place, signal)
    if (found === 'nothing yet') continue
    if (found === 'the end') {
      yield { id: String(place), event: 'done', data: responseOf(await desk.find(task_id)) }
      return
    }
    place += found.text.length
    yield { id: String(place), event: 'token', data: { text: found.text } }
  }
}

async function look(
  svc: PluginHandle,
  desk: TaskDesk,
  task_id: string,
  place: number,
  signal: AbortSignal | undefined,
): Promise<Found> {
  const live = desk.running(task_id)?.text
  const text = live?.after(place)
  if (text) return { text }
  if (live && text === '' && !live.over) {
    await live.changed(signal)
    return 'nothing yet'
  }
  // First the row, then the text: what ended before was written together with its last words.
  const row = await desk.find(task_id)
  const piece = await textAfter(svc.use(Store), task_id, place)
  if (piece) return { text: piece.text.slice(place - piece.until) }
  if (row.status !== 'running') return 'the end'
  await desk.elsewhere(row, signal)
  return 'nothing yet'
}
