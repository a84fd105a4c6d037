import { excerptOf, lineOf, Memory, type MemoryRecord } from '#core/memory/contract'
import type { PluginHandle } from '#kernel'

/** Record kind of notes. */
export const NOTE = 'note'
/** Maximum length of a note in a list, in characters. */
const PREVIEW = 160

/** Returns a note of an agent; undefined when the id is not that of a note. */
export async function noteOf(svc: PluginHandle, agent_id: string, id: string): Promise<MemoryRecord | undefined> {
  const record = await svc.use(Memory).notes(agent_id).recall(id)
  return record?.metadata.kind === NOTE ? record : undefined
}

/**
 * Formats a record as a line of a list.
 * @param query words around which a long record is shown
 */
export function noteLine(record: MemoryRecord, query = ''): string {
  const { memory_id, ts } = record
  const { kind, key, tags } = record.metadata
  const what = kind === NOTE || kind === undefined ? '' : ` [${lineOf([kind, key].filter(Boolean).join(' '), 100)}]`
  const tagged = tags ? ` (${lineOf(String(tags), 100)})` : ''
  return `${memory_id} ${ts.slice(0, 10)}${what}${tagged} ${excerptOf(record, PREVIEW, query)}`
}

/** Returns tags in their stored form: "a, b", without duplicates. */
export function tagsOf(text: string | undefined): { tags?: string } {
  const tags = [
    ...new Set(
      (text ?? '')
        .split(',')
        .map(tag => tag.trim().replace(/^#/, ''))
        .filter(Boolean),
    ),
  ].join(', ')
  return tags === '' ? {} : { tags }
}
