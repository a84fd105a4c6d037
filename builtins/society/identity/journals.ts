import { join } from 'node:path'
import { Agents } from '#core/agents/contract'
import { type PluginHandle, token, z } from '#kernel'
import { unlessCode } from '#lib/unless-code'
import { isoTime } from '#platform/store/contract'

/** Number of bytes read from the end of a journal. */
const GLANCE = 4_096

export const JournalHead = z.object({
  agent_id: z.string(),
  bytes: z.int(),
  modified_at: z.iso.datetime(),
  last_line: z.string(),
})
export type JournalHead = z.infer<typeof JournalHead>

export const OwnJournals = token<Journals>('identity/journals')

/** Reads the notes of agents: `journals/<agent_id>/notepad.md`. Never writes them. */
export class Journals {
  readonly #svc: PluginHandle

  constructor(svc: PluginHandle) {
    this.#svc = svc
  }

  /** Returns the journals of all agents that have one, most recently modified first. */
  async list(): Promise<JournalHead[]> {
    const agents = await this.#svc.use(Agents).list({})
    const heads: JournalHead[] = []
    for (const { agent_id } of agents) {
      const end = await this.read(agent_id, GLANCE)
      if (!end) continue
      const last_line = end.text.trim().split('\n').at(-1)?.slice(0, 200) ?? ''
      heads.push({ agent_id, bytes: end.bytes, modified_at: end.modified_at, last_line })
    }
    return heads.sort((a, b) => b.modified_at.localeCompare(a.modified_at))
  }

  /** Returns the end of a journal, limited in bytes; undefined when there is none. */
  async read(
    agent_id: string,
    longest: number,
  ): Promise<{ text: string; bytes: number; modified_at: string } | undefined> {
    const { files } = this.#svc.ports
    const { O_RDONLY, O_NOFOLLOW } = files.constants
    const path = join(this.#svc.project.svc, 'journals', agent_id, 'notepad.md')
    const handle = await files.open(path, O_RDONLY | O_NOFOLLOW).catch(unlessCode('ENOENT', 'ENOTDIR'))
    if (!handle) return undefined
    try {
      const { size, mtimeMs } = await handle.stat()
      const bytes = Buffer.alloc(Math.min(size, longest))
      await handle.read(bytes, 0, bytes.length, size - bytes.length)
      // The first character may have been cut in two.
      return { text: bytes.toString('utf8').replace(/^\ufffd+/, ''), bytes: size, modified_at: isoTime(mtimeMs) }
    } finally {
      await handle.close()
    }
  }
}
