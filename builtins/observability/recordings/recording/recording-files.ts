import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { constants, gunzip, gzip, gzipSync } from 'node:zlib'
import type { PluginHandle } from '#kernel'
import { keyedMutex } from '#lib/keyed-mutex'
import { succeeds } from '#lib/succeeds'
import { replaceFile } from '#lib/yaml'
import type { EventRow } from '#platform/store/contract'
import { NotReplayableError, Recording, RecordingNotFoundError } from '../contract.ts'
import type { Entry } from './entries.ts'

const pack = promisify(gzip)
const unpack = promisify(gunzip)
/** The fastest level: every run is compressed, few are read. */
const LEVEL = constants.Z_BEST_SPEED
/**
 * Length below which data is compressed synchronously, in characters. This takes a quarter of the processor time of the
 * asynchronous way.
 */
const SHORT = 100_000
const CHUNK = 4096

const RUN_ID = /^run-\d{8}-\d{6}-[0-9a-f]{6}$/
const ABOUT = 'recording.json'
const LOG = 'tape.gz'
const EVENTS = 'events.gz'

/** All parts of one recording, in memory. */
export interface CompleteRecording {
  about: Recording
  entries: Entry[]
  /** Contents of the database file. */
  state: Buffer
}

/** Returns when a recording was made, for sorting. The clock of a fork begins with that of its original run. */
export function creationTime({ started_at, forked_from }: Recording): string {
  return forked_from?.at ?? started_at
}

/** Files of recordings: one folder for each run, and each initial database once. */
export class RecordingFiles {
  readonly #svc: PluginHandle
  readonly #inTurn = keyedMutex()

  constructor(svc: PluginHandle) {
    this.#svc = svc
  }

  get #files() {
    return this.#svc.ports.files
  }

  get #root(): string {
    return join(this.#svc.project.svc, 'recordings')
  }

  folderOf(run_id: string): string {
    return join(this.#root, run_id)
  }

  #stateFile(sha: string): string {
    return join(this.#root, 'states', `${sha}.gz`)
  }

  /** Writes a recording's description; writes of the same recording do not overlap. */
  write(about: Recording): Promise<void> {
    return this.#inTurn(about.run_id, async () => {
      const folder = this.folderOf(about.run_id)
      await this.#files.mkdir(folder, { recursive: true, mode: 0o700 })
      await replaceFile(this.#files, join(folder, ABOUT), `${JSON.stringify(about, null, 2)}\n`)
    })
  }

  /** Writes a description that can be rebuilt from the log and the state, so losing it is harmless. */
  async note(about: Recording): Promise<void> {
    const { ownFiles } = this.#svc.ports
    const folder = this.folderOf(about.run_id)
    await ownFiles.mkdir(folder, { recursive: true, mode: 0o700 })
    await ownFiles.writeFile(join(folder, ABOUT), `${JSON.stringify(about)}\n`, { mode: 0o600 })
  }

  /** Opens a log for appending and keeps it open: opening it for each chunk would cost more than writing the chunk. */
  async openLog(run_id: string): Promise<LogFile> {
    const path = join(this.folderOf(run_id), LOG)
    return new LogFile(await this.#svc.ports.ownFiles.open(path, 'a', 0o600))
  }

  /**
   * Stores a database, once for the same content.
   * @returns its SHA-256
   */
  async keepState(bytes: Buffer): Promise<string> {
    const sha = createHash('sha256').update(bytes).digest('hex')
    const file = this.#stateFile(sha)
    await this.#files.mkdir(join(this.#root, 'states'), { recursive: true, mode: 0o700 })
    if (await this.#exists(file)) return sha
    const beside = `${file}.${this.#svc.ports.ids.make('new', 8)}`
    await this.#files.writeFile(beside, (await pack(bytes, { level: LEVEL })) as Buffer, { mode: 0o600 })
    await this.#files.rename(beside, file)
    return sha
  }

  /** @throws RecordingNotFoundError, NotReplayableError for a damaged description */
  async readRecording(run_id: string): Promise<Recording> {
    if (!RUN_ID.test(run_id)) throw new RecordingNotFoundError({ run_id })
    const file = join(this.folderOf(run_id), ABOUT)
    const text = await this.#files.readFile(file, 'utf8').catch(() => {
      throw new RecordingNotFoundError({ run_id })
    })
    try {
      return Recording.parse(JSON.parse(text))
    } catch (cause) {
      throw new NotReplayableError({ run_id, why: `${file} is damaged` }, { cause })
    }
  }

  /** Returns all recordings, newest first. */
  async list(): Promise<Recording[]> {
    const names = await this.#files.readdir(this.#root).catch(() => [])
    const found = await Promise.all(
      names.filter(name => RUN_ID.test(name)).map(name => this.readRecording(name).catch(() => undefined)),
    )
    return found
      .flatMap(each => each ?? [])
      .sort((a, b) => creationTime(b).localeCompare(creationTime(a)) || b.run_id.localeCompare(a.run_id))
  }

  /** @throws NotReplayableError for a damaged log; an incomplete last chunk is skipped */
  async entries(run_id: string): Promise<Entry[]> {
    const file = join(this.folderOf(run_id), LOG)
    const bytes = await this.#files.readFile(file).catch(() => Buffer.alloc(0))
    return entriesIn(bytes).catch(cause => {
      throw new NotReplayableError({ run_id, why: `${file} is damaged` }, { cause })
    })
  }

  /** Returns whether the log is shorter than what was written. */
  async isTorn({ run_id, ended_at, bytes }: Recording): Promise<boolean> {
    const there = await this.#files.stat(join(this.folderOf(run_id), LOG)).catch(() => ({ size: 0 }))
    return ended_at !== null && there.size < bytes
  }

  /** Writes the event log of a recording whose run is not in the database. */
  async keepEvents(run_id: string, events: readonly EventRow[]): Promise<void> {
    const file = join(this.folderOf(run_id), EVENTS)
    await this.#files.writeFile(file, await compress(JSON.stringify(events)), { mode: 0o600 })
  }

  async events(run_id: string): Promise<EventRow[] | undefined> {
    const bytes = await this.#files.readFile(join(this.folderOf(run_id), EVENTS)).catch(() => undefined)
    return bytes && (JSON.parse(await decompress(bytes)) as EventRow[])
  }

  async state(sha: string): Promise<Buffer> {
    return (await unpack(await this.#files.readFile(this.#stateFile(sha)))) as Buffer
  }

  /** Removes recordings, and the initial databases that no other recording uses. */
  async remove(run_ids: readonly string[]): Promise<void> {
    for (const run_id of run_ids) await this.#files.rm(this.folderOf(run_id), { recursive: true, force: true })
    const used = new Set((await this.list()).map(({ state }) => `${state}.gz`))
    const folder = join(this.#root, 'states')
    const names = await this.#files.readdir(folder).catch(() => [])
    for (const name of names) if (!used.has(name)) await this.#files.rm(join(folder, name), { force: true })
  }

  #exists(path: string): Promise<boolean> {
    return succeeds(this.#files.stat(path))
  }
}

/** The open log of a recording in progress. */
export class LogFile {
  readonly #file: FileHandle

  constructor(file: FileHandle) {
    this.#file = file
  }

  /**
   * Appends a chunk that stays readable if later ones are torn.
   * @returns the number of bytes written
   */
  async append(text: string): Promise<number> {
    const options = { level: LEVEL, chunkSize: CHUNK }
    const bytes = text.length < SHORT ? gzipSync(text, options) : ((await pack(text, options)) as Buffer)
    const length = Buffer.alloc(4)
    length.writeUInt32LE(bytes.length)
    await this.#file.appendFile(Buffer.concat([length, bytes]))
    return bytes.length + length.length
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}

/** Returns the entries of a log, up to the last complete chunk. */
async function entriesIn(bytes: Buffer): Promise<Entry[]> {
  const entries: Entry[] = []
  for (let at = 0; at + 4 <= bytes.length; ) {
    const length = bytes.readUInt32LE(at)
    const piece = bytes.subarray(at + 4, at + 4 + length)
    if (piece.length < length) break
    for (const entry of JSON.parse(String(await unpack(piece))) as Entry[]) entries.push(entry)
    at += 4 + length
  }
  return entries
}

export async function compress(text: string): Promise<Buffer> {
  return (await pack(text)) as Buffer
}

export async function decompress(bytes: Buffer): Promise<string> {
  return String(await unpack(bytes))
}
