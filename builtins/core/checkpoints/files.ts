import { basename, join, relative } from 'node:path'
import type { PluginHandle, Ports } from '#kernel'
import { succeeds } from '#lib/succeeds'
import { unlessCode } from '#lib/unless-code'
import { replaceFile } from '#lib/yaml'
import { SharedFiles } from '#platform/store/contract'
import { Checkpoint, CheckpointNotFoundError, type CheckpointSummary, CheckpointUnreadableError } from './contract.ts'
import { EnvelopeError, seal, unseal } from './envelope.ts'

const FORMAT = 'svc-checkpoint'
const VERSION = 1
const ID = /^ckpt-[0-9a-f]{8}$/
const LATEST = 'latest'
const unlessMissing = unlessCode('ENOENT', 'ENOTDIR')

/**
 * The checkpoints on disk: `checkpoints/<agent_id>/<checkpoint_id>.json`, each written to a temporary file and renamed.
 * A damaged or edited file is renamed to `.corrupt`; one of an unknown newer version stays where it is.
 */
export class CheckpointFiles {
  readonly #svc: PluginHandle

  constructor(svc: PluginHandle) {
    this.#svc = svc
  }

  get #files(): Ports['files'] {
    return this.#svc.ports.files
  }

  /** Shared storage of several machines; where it is available, checkpoints are stored only there. */
  get #sharedFiles(): SharedFiles | undefined {
    return this.#svc.has(SharedFiles) ? this.#svc.use(SharedFiles) : undefined
  }

  /** @param mask takes the values of secrets out of JSON */
  async write(checkpoint: Checkpoint, mask: (json: string) => string): Promise<void> {
    const content: unknown = JSON.parse(mask(JSON.stringify(checkpoint)))
    const file = this.#file(checkpoint.agent_id, checkpoint.checkpoint_id)
    const text = JSON.stringify(seal(FORMAT, VERSION, content))
    const shared = this.#sharedFiles
    if (shared) return void (await shared.replace(this.#path(file), text, 0))
    await this.#files.mkdir(this.#folder(checkpoint.agent_id), { recursive: true, mode: 0o700 })
    await replaceFile(this.#files, file, text)
  }

  /** @throws CheckpointNotFoundError, CheckpointUnreadableError */
  async read(agent_id: string, ref: string): Promise<Checkpoint> {
    const checkpoint_id = ref === LATEST ? (await this.list(agent_id))[0]?.checkpoint_id : ref
    const found = checkpoint_id && (await this.#read(agent_id, checkpoint_id))
    if (!found) throw new CheckpointNotFoundError({ agent_id, checkpoint_id: ref })
    return found.checkpoint
  }

  /**
   * Returns checkpoints, newest first. Unreadable ones are left out and reported. @param before milliseconds; only
   * those written earlier
   */
  async list(agent_id: string, before = Number.POSITIVE_INFINITY): Promise<CheckpointSummary[]> {
    const found: CheckpointSummary[] = []
    for (const id of await this.#ids(agent_id)) {
      if (before !== Number.POSITIVE_INFINITY && (await this.#writtenAt(agent_id, id)) >= before) continue
      const read = await this.#read(agent_id, id).catch(error => {
        if (!(error instanceof CheckpointUnreadableError)) throw error
        return undefined
      })
      if (read) found.push(summaryOf(read.checkpoint, read.bytes))
    }
    return found.sort(newestFirst)
  }

  /** @returns whether there was such a checkpoint */
  async remove(agent_id: string, checkpoint_id: string): Promise<boolean> {
    if (!ID.test(checkpoint_id)) return false
    const file = this.#file(agent_id, checkpoint_id)
    if (this.#sharedFiles) return this.#sharedFiles.remove(this.#path(file))
    return this.#files.unlink(file).then(
      () => true,
      error => unlessMissing(error) ?? false,
    )
  }

  /** Returns the ids of agents that have checkpoints. */
  async agents(): Promise<string[]> {
    const shared = await this.#sharedFiles?.list('checkpoints/')
    if (shared) return [...new Set(shared.map(({ path }) => path.split('/')[1]!))]
    const entries = await this.#files
      .readdir(join(this.#svc.project.svc, 'checkpoints'), { withFileTypes: true })
      .catch(unlessMissing)
    return (entries ?? []).filter(entry => entry.isDirectory()).map(({ name }) => name)
  }

  async #ids(agent_id: string): Promise<string[]> {
    const shared = await this.#sharedFiles?.list(`${this.#path(this.#folder(agent_id))}/`)
    const names =
      shared?.map(({ path }) => basename(path)) ??
      (await this.#files.readdir(this.#folder(agent_id)).catch(unlessMissing)) ??
      []
    return names.filter(name => name.endsWith('.json') && ID.test(name.slice(0, -5))).map(name => name.slice(0, -5))
  }

  async #writtenAt(agent_id: string, id: string): Promise<number> {
    const file = this.#file(agent_id, id)
    if (this.#sharedFiles) return (await this.#sharedFiles.list(this.#path(file)))[0]?.at ?? Number.POSITIVE_INFINITY
    const stat = await this.#files.stat(file).catch(unlessMissing)
    return stat?.mtimeMs ?? Number.POSITIVE_INFINITY
  }

  async #read(agent_id: string, checkpoint_id: string): Promise<{ checkpoint: Checkpoint; bytes: number } | undefined> {
    if (!ID.test(checkpoint_id)) return undefined
    const file = this.#file(agent_id, checkpoint_id)
    const shared = this.#sharedFiles
    const text = shared
      ? (await shared.read(this.#path(file)))?.text
      : await this.#files.readFile(file, 'utf8').catch(unlessMissing)
    if (text === undefined) return undefined
    try {
      const checkpoint = Checkpoint.safeParse(unseal(FORMAT, VERSION, text))
      if (!checkpoint.success) throw new EnvelopeError('its file is intact, but does not contain a checkpoint')
      if (checkpoint.data.checkpoint_id !== checkpoint_id || checkpoint.data.agent_id !== agent_id)
        throw new EnvelopeError('its file contains a different checkpoint')
      return { checkpoint: checkpoint.data, bytes: Buffer.byteLength(text) }
    } catch (error) {
      if (!(error instanceof EnvelopeError)) throw error
      const problem = error.newer
        ? error.message
        : `${error.message}; the file was renamed to ${await this.#moveToSide(file)}`
      this.#svc.log.warn({ agent_id }, `${file}: ${problem}`)
      throw new CheckpointUnreadableError({ checkpoint_id, problem }, { cause: error })
    }
  }

  /** Renames the file to an unused name. */
  async #moveToSide(file: string): Promise<string> {
    const shared = this.#sharedFiles
    if (shared) {
      const path = this.#path(file)
      const found = await shared.read(path)
      if (found) await shared.replace(`${path}.corrupt`, found.text, 0)
      await shared.remove(path)
      return `${path}.corrupt`
    }
    for (let n = 1; ; n++) {
      const corrupt = `${file}${n === 1 ? '' : `.${n}`}.corrupt`
      const taken = await succeeds(this.#files.access(corrupt))
      if (taken) continue
      await this.#files.rename(file, corrupt)
      return corrupt
    }
  }

  #folder(agent_id: string): string {
    if (!/^[\w-][\w.-]{0,127}$/.test(agent_id)) throw new TypeError(`"${agent_id}" is not a valid agent id`)
    return join(this.#svc.project.svc, 'checkpoints', agent_id)
  }

  /** Path relative to `.svc/`, as shared files are named. */
  #path(file: string): string {
    return relative(this.#svc.project.svc, file).replaceAll('\\', '/')
  }

  #file(agent_id: string, checkpoint_id: string): string {
    return join(this.#folder(agent_id), `${checkpoint_id}.json`)
  }
}

function summaryOf({ parts, ...rest }: Checkpoint, bytes: number): CheckpointSummary {
  return { ...rest, parts: Object.keys(parts).filter(name => parts[name] !== null), bytes }
}

/** Compares by time, as ids are random. */
function newestFirst(a: CheckpointSummary, b: CheckpointSummary): number {
  return (
    b.created_at.localeCompare(a.created_at) || b.number - a.number || b.checkpoint_id.localeCompare(a.checkpoint_id)
  )
}
