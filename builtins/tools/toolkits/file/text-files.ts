import type { FileHandle } from 'node:fs/promises'
import type { PluginHandle } from '#kernel'
import { Store } from '#platform/store/contract'
import { Jail, PathError, type Reach, ReadOnlyError } from '#safety/sandbox/contract'
import type { ToolCall } from '../contract.ts'
import type { FileConfig } from './config.ts'
import { EditError } from './edit.ts'
import { likelyPaths } from './likely-paths.ts'
import { approvalAskedAt, SeenFiles } from './seen.ts'

/** A file's state when it was read for a change. */
export interface Found {
  bytes: Buffer
  text: string
  /** Whether the agent has neither read nor written the file in this goal. */
  isUnread: boolean
}

/**
 * Reads and writes agents' files within size limits. An agent may only replace a file that it read or wrote in this
 * goal and that has not changed since.
 */
export class TextFiles {
  readonly #svc: PluginHandle
  readonly #limits: FileConfig
  readonly #seen = new SeenFiles()

  constructor(svc: PluginHandle, limits: FileConfig) {
    this.#svc = svc
    this.#limits = limits
  }

  /**
   * Returns a file's content and records that the agent knows it.
   * @throws OutsideError, PathError
   */
  async read(call: ToolCall, path: string): Promise<Buffer> {
    const { bytes, real } = await this.#open(call, path)
    this.#seen.add(call, real, bytes)
    return bytes
  }

  /**
   * Returns a text file for a change.
   * @throws EditError when it changed since the agent read it, OutsideError, PathError
   */
  async find(call: ToolCall, path: string): Promise<Found> {
    const { bytes, real } = await this.#open(call, path)
    const knowledge = this.#seen.knowledge(call, real, bytes)
    if (knowledge === 'changed') throw new EditError({ path, problem: CHANGED })
    return { bytes, text: textOf(bytes, path), isUnread: knowledge === 'unread' }
  }

  /**
   * Replaces the found file, or creates one. A file that counted as unread still counts as unread afterwards.
   * @returns the size in bytes
   * @throws EditError when the file has changed meanwhile, OutsideError, PathError, ReadOnlyError
   */
  change(call: ToolCall, path: string, text: string, found: Found | undefined): Promise<number> {
    return this.#replace(call, path, text, !found?.isUnread, current => {
      const isSame = found && current ? found.bytes.equals(current) : found === current
      return isSame ? undefined : CHANGED
    })
  }

  /**
   * Writes a whole file.
   * @returns its size in bytes
   * @throws EditError when the agent does not know what it would overwrite, OutsideError, PathError, ReadOnlyError
   */
  write(call: ToolCall, path: string, text: string): Promise<number> {
    return this.#replace(call, path, text, true, async (current, real, changed_at) => {
      // A call repeated after a crash may find its own content.
      if (!current || current.equals(Buffer.from(text))) return undefined
      const knowledge = this.#seen.knowledge(call, real, current)
      if (knowledge === 'unread' && (await this.#wasKnown(call, changed_at))) return undefined
      return PROBLEMS[knowledge]
    })
  }

  /**
   * Checks, without writing, whether `write` would be refused.
   * @throws EditError, OutsideError, PathError, ReadOnlyError
   */
  async checkWrite(call: ToolCall, path: string, text: string): Promise<void> {
    if (!(await this.checkWritable(call, path))) return
    const { bytes, real } = await this.#open(call, path)
    const problem = bytes.equals(Buffer.from(text)) ? undefined : PROBLEMS[this.#seen.knowledge(call, real, bytes)]
    if (problem) throw new EditError({ path, problem })
  }

  /**
   * Checks whether a path is in a folder in which the agent may write.
   * @returns whether the file exists
   * @throws OutsideError, PathError, ReadOnlyError
   */
  async checkWritable(reach: Reach, path: string): Promise<boolean> {
    const { exists, folder, access } = await this.#svc.use(Jail).resolve(reach, path)
    if (access === 'read-only') throw new ReadOnlyError({ path, folder, reach })
    return exists
  }

  async exists(reach: Reach, path: string): Promise<boolean> {
    return (await this.#svc.use(Jail).resolve(reach, path)).exists
  }

  /**
   * Returns whether this call was checked by `checkWrite` after the file had changed last. What the agent knew then may
   * be forgotten: the call may have waited for its approval over a restart.
   */
  async #wasKnown({ call_id }: ToolCall, changed_at: number): Promise<boolean> {
    const asked_at = this.#svc.has(Store) ? await approvalAskedAt(this.#svc.use(Store), call_id) : undefined
    return asked_at !== undefined && changed_at < asked_at
  }

  /** @param problemOf returns why the current content must not be replaced */
  async #replace(
    call: ToolCall,
    path: string,
    text: string,
    isKnown: boolean,
    problemOf: (
      current: Buffer | undefined,
      real: string,
      changed_at: number,
    ) => string | undefined | Promise<string | undefined>,
  ): Promise<number> {
    const bytes = Buffer.from(text)
    const { file_max_write_bytes: most } = this.#limits
    if (bytes.length > most) throw tooLarge(path, bytes.length, most)
    let at = ''
    await this.#svc.use(Jail).replace(call, path, bytes, async (current, real) => {
      const { ctimeMs = 0 } = (await current?.stat()) ?? {}
      const problem = await problemOf(current && (await this.#contentOf(current, path)), real, ctimeMs)
      if (problem) throw new EditError({ path, problem })
      at = real
    })
    if (isKnown) this.#seen.add(call, at, bytes)
    return bytes.length
  }

  async #open(reach: ToolCall, path: string): Promise<{ bytes: Buffer; real: string }> {
    const jail = this.#svc.use(Jail)
    const { real, exists } = await jail.resolve(reach, path)
    if (!exists) await this.#refuseMissing(reach, path)
    const handle = await jail.open(reach, path)
    try {
      return { bytes: await this.#contentOf(handle, path), real }
    } finally {
      await handle.close()
    }
  }

  /**
   * Throws an error that suggests files which the path may mean.
   * @throws PathError
   */
  async #refuseMissing(reach: ToolCall, path: string): Promise<void> {
    const folder = await this.#svc.use(Jail).folder(reach, '.')
    try {
      const likely = await likelyPaths(this.#svc.ports.files, folder, path, reach.signal)
      if (likely.length === 0) return
      const names = likely.map(each => JSON.stringify(each)).join(' or ')
      throw new PathError({ path, problem: `does not exist; did you mean ${names}? list_dir shows what there is` })
    } finally {
      await folder.close()
    }
  }

  async #contentOf(handle: FileHandle, path: string): Promise<Buffer> {
    const { size } = await handle.stat()
    const { file_max_read_bytes: most } = this.#limits
    if (size > most) throw tooLarge(path, size, most)
    return handle.readFile()
  }
}

const CHANGED =
  'it changed on disk since you last read or wrote it; read it again with file_read, then make your change'
const PROBLEMS = {
  current: undefined,
  changed: CHANGED,
  unread:
    'it exists, and you have not read it in this goal or task; read it with file_read, then write it or change a part with file_edit',
}

/** @throws PathError when the bytes are not text */
export function textOf(bytes: Buffer, path: string): string {
  const text = bytes.toString('utf8')
  if (bytes.includes(0) || !bytes.equals(Buffer.from(text))) {
    throw new PathError({
      path,
      problem: 'is neither UTF-8 text nor a PNG, JPEG or WebP image; the file tools support no other formats',
    })
  }
  return text
}

function tooLarge(path: string, bytes: number, most: number) {
  return new PathError({ path, problem: `has ${bytes} bytes, but the file tools accept at most ${most}` })
}
