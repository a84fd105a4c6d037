import { join } from 'node:path'
import { defineError, type Ports } from '#kernel'
import { contentTokens } from '#lib/output-limit'
import { pluralize } from '#lib/pluralize'
import { endWithin, textTokens } from '#lib/text-tokens'

const STAMP = /^## (?=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$)/m

/** The notepad is full, or belongs to an agent that is unknown or whose notepad this agent cannot read. */
export const NotepadError = defineError({
  code: 'notepad_refused',
  status: 422,
  title: 'Notepad refused',
  message: (p: { message: string }) => p.message,
})

/** The notepads of all agents: `journals/<agent_id>/notepad.md`, one entry after another, each below its time. */
export class Notepads {
  readonly #ports: Pick<Ports, 'files' | 'clock'>
  readonly #journals: string
  readonly #maxBytes: number

  /** @param journals folder with one subfolder for each agent */
  constructor(ports: Pick<Ports, 'files' | 'clock'>, journals: string, maxBytes: number) {
    this.#ports = ports
    this.#journals = journals
    this.#maxBytes = maxBytes
  }

  /**
   * Appends an entry.
   * @returns the size of the notepad afterwards, in bytes
   * @throws NotepadError when it is full
   */
  async append(agent_id: string, text: string): Promise<number> {
    const { files, clock } = this.#ports
    const folder = this.#folder(agent_id)
    await files.mkdir(folder, { recursive: true, mode: 0o700 })
    const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW } = files.constants
    const handle = await files.open(join(folder, 'notepad.md'), O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600)
    try {
      const { size } = await handle.stat()
      // A crash may have left the last line incomplete.
      const torn = size > 0 && (await handle.read(Buffer.alloc(1), 0, 1, size - 1)).buffer[0] !== 10
      const entry = `${torn ? '\n' : ''}${size > 0 ? '\n' : ''}## ${clock.now().toISOString()}\n${text.trim()}\n`
      const bytes = Buffer.from(entry)
      if (size + bytes.length > this.#maxBytes) {
        throw new NotepadError({
          message: `The notepad is full (${size} of ${this.#maxBytes} bytes); read it, clear it, and write down what still matters.`,
        })
      }
      await handle.writeFile(bytes)
      return size + bytes.length
    } finally {
      await handle.close()
    }
  }

  /**
   * Returns the newest entries in chronological order, with a note on how to see older ones.
   * @param limit maximum number of entries; fewer when they are long
   * @param skip number of newest entries to skip
   * @param result_tokens maximum tokens of the whole result
   */
  async read(agent_id: string, limit: number, skip: number, result_tokens?: number): Promise<string> {
    const entries = await this.#entries(agent_id)
    if (entries.length === 0) return '[The notepad is empty.]'
    const end = Math.max(0, entries.length - skip)
    const shown = newestWithin(entries.slice(0, end), limit, contentTokens(result_tokens))
    const from = end - shown.length
    const older =
      from > 0
        ? [`[${pluralize(from, 'older entry', 'older entries')}; see them with offset=${entries.length - from}.]`]
        : []
    return (
      [...older, ...shown].join('\n\n') || `[The notepad has only ${pluralize(entries.length, 'entry', 'entries')}.]`
    )
  }

  /** Returns the newest entries in chronological order; an empty string where there are none. */
  async newest(agent_id: string, limit: number, tokens: number): Promise<string> {
    return newestWithin(await this.#entries(agent_id), limit, tokens).join('\n\n')
  }

  /** Empties the notepad. */
  async clear(agent_id: string): Promise<void> {
    await this.#ports.files.rm(join(this.#folder(agent_id), 'notepad.md'), { force: true })
  }

  async #entries(agent_id: string): Promise<string[]> {
    const text = await this.#text(agent_id)
    return text
      .split(STAMP)
      .map(entry => entry.trim())
      .filter(Boolean)
  }

  async #text(agent_id: string): Promise<string> {
    const { files } = this.#ports
    const { O_RDONLY, O_NOFOLLOW } = files.constants
    try {
      const handle = await files.open(join(this.#folder(agent_id), 'notepad.md'), O_RDONLY | O_NOFOLLOW)
      try {
        return await handle.readFile('utf8')
      } finally {
        await handle.close()
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
      throw error
    }
  }

  /** Returns the agent's folder; refuses an id that could lead elsewhere. */
  #folder(agent_id: string): string {
    if (!/^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(agent_id)) {
      throw new NotepadError({ message: `${JSON.stringify(agent_id.slice(0, 200))} is not the id of an agent.` })
    }
    return join(this.#journals, agent_id)
  }
}

/** Returns the last entries that fit, at least one, cut at its beginning where it is too long. */
function newestWithin(entries: readonly string[], limit: number, tokens: number): string[] {
  const end = entries.length
  let from = end
  for (let left = tokens; from > 0 && end - from < limit; from--) {
    left -= textTokens(entries[from - 1]!)
    if (left < 0 && from < end) break
  }
  return entries.slice(from).map(entry => {
    const kept = endWithin(entry, tokens)
    return kept.length < entry.length ? `…${kept}` : entry
  })
}
