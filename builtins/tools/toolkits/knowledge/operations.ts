import { AgentNotFoundError, AgentRef, Agents, AmbiguousAgentError } from '#core/agents/contract'
import { Memory, type MemoryRecord } from '#core/memory/contract'
import { operation, type PluginHandle, z } from '#kernel'
import { Page } from '#lib/list'
import { NOTE } from './notes.ts'

const Note = z
  .object({
    note_id: z.string().meta({ examples: ['mem-1a2b3c4d5e6f7a8b'] }),
    text: z.string(),
    tags: z.array(z.string()),
    at: z.iso.datetime().describe('Time when the note was written'),
  })
  .meta({ id: 'Note' })
type Note = z.infer<typeof Note>

async function findNotes(svc: PluginHandle, ref: string, query = '') {
  const { agent_id } = await svc.use(Agents).find(ref)
  const all = await svc
    .use(Memory)
    .notes(agent_id)
    .recent(Number.POSITIVE_INFINITY, { only: { kind: NOTE } })
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  return all.map(noteView).filter(({ text, tags }) => {
    const noteText = `${text} ${tags.join(' ')}`.toLowerCase()
    return words.every(word => noteText.includes(word))
  })
}

export const notesList = operation({
  name: 'notes.list',
  summary: "List an agent's notes, newest first",
  description: 'Returns the notes that the agent saved with the knowledge toolkit.',
  input: Page.extend({
    id: AgentRef,
    query: z.string().trim().max(500).optional().describe('Words that the notes must contain, all of them'),
  }),
  output: z.array(Note),
  http: { method: 'GET', path: '/agents/{id}/notes' },
  cli: { usage: 'notes <id> [query...]', short: { limit: 'n' } },
  mcp: true,
  errors: [AgentNotFoundError, AmbiguousAgentError],
  run: async ({ id, query, limit, offset }, { svc }) =>
    (await findNotes(svc, id, query)).slice(offset, limit === undefined ? undefined : offset + limit),
  count: async ({ id, query }, { svc }) => (await findNotes(svc, id, query)).length,
  render: notes => notes.map(page).join('\n\n') || 'no matching notes',
})

/** Operations with which the operator reads an agent's notes. Reading does not count as use. */
export const noteOperations = [notesList]

function noteView({ memory_id, thought, metadata: { tags }, ts }: MemoryRecord): Note {
  const sorted = String(tags ?? '')
    .split(',')
    .map(tag => tag.trim())
    .filter(Boolean)
  return { note_id: memory_id, text: thought, tags: sorted, at: ts }
}

function page({ note_id, text, tags, at }: Note): string {
  const head = `${note_id}  ${at}${tags.length > 0 ? `  ${tags.join(', ')}` : ''}`
  return `${head}\n${text.trimEnd().replaceAll(/^/gm, '    ')}`
}
