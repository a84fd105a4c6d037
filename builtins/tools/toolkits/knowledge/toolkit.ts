import { Memory, partOf } from '#core/memory/contract'
import { type PluginHandle, z } from '#kernel'
import { type ToolCall, type Toolkit, tool } from '#tools/toolkits/contract'
import { NOTE, noteLine, noteOf, tagsOf } from './notes.ts'

/** Maximum length of a note, and number of characters shown at a time. */
const LONGEST = 20_000
const PART = 10_000

const note_id = z.string().trim().min(1).max(128).describe('Id of the note, as lists and searches show it')
const content = z.string().trim().min(1).max(LONGEST).describe('The whole note, so that it can be understood by itself')
const tags = z.string().max(200).optional().describe('Tags for the note, separated by commas')
const limit = (most: number, usual: number) =>
  z.coerce.number().int().min(1).max(most).default(usual).describe(`Number of entries to show, at most ${most}`)

/** Tools for notes in the agent's memory. */
export function knowledgeToolkit(svc: PluginHandle): Toolkit {
  const memoryOf = (agent_id: string) => svc.use(Memory).notes(agent_id)
  const from = async (call: ToolCall, tool: string) => ({
    kind: NOTE,
    ...(await svc.use(Memory).origin(call, tool)),
  })
  return {
    name: 'knowledge',
    instructions:
      'Your notes persist across goals: save what you find out with `save_note`, one thing per note, and search your notes before you look something up again.',
    tools: [
      tool({
        name: 'save_note',
        description: 'Save something to remember, so that you can search for it later.',
        parameters: z.object({ content, tags }),
        idempotent: true,
        async execute({ content, tags }, call) {
          const metadata = { ...(await from(call, 'save_note')), ...tagsOf(tags) }
          return `Saved as ${await memoryOf(call.agent_id).store(content, metadata, svc.use(Memory).idOf(call.call_id))}.`
        },
      }),
      tool({
        name: 'search_notes',
        description:
          'Search everything that you remember by words: your notes, earlier goals with their results, stored values, links. Shows the part of each entry that has the words; read_note shows a whole entry.',
        parameters: z.object({
          query: z.string().trim().min(1).max(500).describe('Words to search for'),
          limit: limit(50, 5),
        }),
        read_only: true,
        async execute({ query, limit }, { agent_id }) {
          const hits = await memoryOf(agent_id).search(query, limit)
          if (hits.length === 0)
            return '[Nothing that you remember contains these words. Try others, or list_recent_notes.]'
          const more = hits.length === limit && limit < 50 ? [`[There may be more; ask with a higher limit.]`] : []
          return [...hits.map(hit => noteLine(hit, query)), ...more].join('\n')
        },
      }),
      tool({
        name: 'list_recent_notes',
        description: 'List your newest notes, newest first.',
        parameters: z.object({
          limit: limit(100, 10),
          offset: z.coerce.number().int().min(0).default(0).describe('Number of newest notes to skip'),
        }),
        read_only: true,
        async execute({ limit, offset }, { agent_id }) {
          const found = await memoryOf(agent_id).recent(limit + 1, { only: { kind: NOTE }, offset })
          if (found.length === 0) return offset > 0 ? '[There are no older notes.]' : '[You have no notes yet.]'
          const more = found.length > limit ? [`[See older notes with offset=${offset + limit}.]`] : []
          return [...found.slice(0, limit).map(note => noteLine(note)), ...more].join('\n')
        },
      }),
      tool({
        name: 'read_note',
        description: 'Read a whole note, or any other entry that search_notes found.',
        parameters: z.object({
          note_id,
          offset: z.coerce
            .number()
            .int()
            .min(0)
            .default(0)
            .describe('Number of characters to skip, to continue a long note'),
        }),
        read_only: true,
        async execute({ note_id, offset }, { agent_id }) {
          const record = await memoryOf(agent_id).recall(note_id)
          return record ? partOf(record.thought, offset, PART) : unknown(note_id)
        },
      }),
      tool({
        name: 'update_note',
        description: 'Replace the content of a note. Its tags are kept unless you give others.',
        parameters: z.object({ note_id, content, tags }),
        idempotent: true,
        async execute({ note_id, content, tags }, call) {
          const note = await noteOf(svc, call.agent_id, note_id)
          if (!note) return unknown(note_id)
          const metadata = { ...note.metadata, ...(await from(call, 'update_note')), ...tagsOf(tags) }
          await memoryOf(call.agent_id).put(note_id, content, metadata)
          return `The note ${note_id} is changed.`
        },
      }),
      tool({
        name: 'delete_note',
        description: 'Delete a note permanently.',
        parameters: z.object({ note_id }),
        idempotent: true,
        danger: 'deletes a note',
        async execute({ note_id }, { agent_id }) {
          if (!(await noteOf(svc, agent_id, note_id))) return unknown(note_id)
          await memoryOf(agent_id).forget(note_id)
          return `The note ${note_id} is removed.`
        },
      }),
    ],
  }
}

/** Returns a message instead of an error, because after a crash a completed removal is repeated. */
function unknown(note_id: string): string {
  return `[There is no note ${JSON.stringify(note_id)}. search_notes and list_recent_notes show the ids of your notes.]`
}
