import { defineError, type Effect, type Ports, point, type SvcError, token, z } from '#kernel'
import { Page } from '#lib/list'
import type { CommitResult, Lease, Next, Scheduler } from '#platform/heartbeat/contract'

export { AMONG, allOf, type Condition, type Dates, datesIn, isoTime, jsonList, usdOf } from './sql/columns.ts'
export { defineEffect, type EffectKind, Effects, isOptional } from './sql/effects.ts'
export {
  type AppendedEvent,
  appendEvent,
  EVENT_COLUMNS,
  newestSeq,
  RUN_OF,
  shownEvent,
  wakeAgents,
} from './sql/events.ts'
export { getValue, setValue } from './sql/values.ts'

/** One SQL statement with its positional parameters. */
export interface Statement {
  sql: string
  params?: readonly unknown[]
}

/** What an event is, wherever it is stored or streamed. */
export const EventEnvelope = z.object({
  seq: z.number().int(),
  type: z.string(),
  v: z.number().int(),
  at: z.iso.datetime(),
  agent_id: z.string().nullable(),
  cycle_num: z.number().int().nullable(),
  run_id: z.string().nullable(),
  data: z.record(z.string(), z.unknown()),
})
export type EventEnvelope = z.infer<typeof EventEnvelope>

/** An event as it is stored: its time in milliseconds, its data as JSON. */
export type EventRow = Omit<EventEnvelope, 'at' | 'data'> & { at: number; data: string }

/** Writes that other processes report. */
export interface NeighbourWrites {
  /** Reads what was reported, about once a second. @returns whether there was a write whose content or place in the order is unknown */
  look(): Promise<boolean>
  end(): Promise<void>
}

/** The database: the only write paths are `commit` and `apply`. Every method waits up to 5 s for another process's lock. */
export interface Store {
  /** A cycle's write: effects and the lease's next state, in one transaction, fenced. */
  commit(lease: Lease, effects: readonly Effect[], next: Next): Promise<CommitResult>
  /** A write from outside a cycle. @returns false when a must-change effect changed nothing: nothing but `always` effects was written then */
  apply(effects: readonly Effect[]): Promise<boolean>
  /** All rows of a query. Reads never wait for writers. */
  all<R>(sql: string, params?: readonly unknown[]): Promise<R[]>
  /** The same for long lists, at half the cost, of texts, whole numbers and nulls only. */
  many<R>(sql: string, params?: readonly unknown[]): Promise<R[]>
  /** Returns what `read` gives, or gave under this key within the last half second if nothing was written since. */
  readCached<T>(key: string, read: () => Promise<T>): Promise<T>
  /** @deprecated Use `readCached`. */
  unchanged?: Store['readCached']
  /**
   * Waits until something was written, polling about once a second.
   * @param seen the last result; '' for the first call
   * @returns the state now; also when the signal is aborted
   */
  waitForChange(seen: string, signal?: AbortSignal): Promise<string>
  /** @deprecated Use `waitForChange`. */
  changed?: Store['waitForChange']
  /** The first row of a query. */
  get<R>(sql: string, params?: readonly unknown[]): Promise<R | undefined>
  /** The same, synchronously where the engine can, for frequent queries. */
  glance<R>(sql: string, params?: readonly unknown[]): R | undefined | Promise<R | undefined>
  /** Name of this process in its leases. */
  readonly owner: string
  /** Where the database serves several machines: the machine and the project whose files show which processes live. */
  readonly place: string
  /** Whether processes of other places, or of this one, drive agents of this database now. */
  hasOtherDaemons(place?: string): Promise<boolean>
  /** @deprecated Use `hasOtherDaemons`. */
  elsewhere?: Store['hasOtherDaemons']
  /** Frees the leases of all but these and this one, on this machine: for the process that has just become the project's only daemon. */
  recover(living: readonly string[]): Promise<number>
  /** Releases leases of dead processes. @returns the number of leases */
  free(owners: readonly string[]): Promise<number>
  /** Throws when the database cannot be reached, or was removed or replaced. */
  health(): Promise<void>
  /**
   * Frees the space of removed rows, a few pages at a time, until the signal is aborted. @returns the number of bytes
   */
  shrink(signal: AbortSignal): Promise<number>
  /** Copies it, as it is at this moment and without what was removed, to a file that is not there yet. Absent where the engine cannot. */
  copyTo?(file: string): Promise<void>
  /** The bytes of such a file with all of its pages: many times faster, and larger. Absent where the engine cannot. */
  image?(): Promise<Buffer>
  /**
   * Has the other processes of the project announce all that they write from this call on: it is recorded between
   * this process's own writes and reads, in its place. One process at a time. Absent where the engine cannot.
   */
  overhear?(): Promise<NeighbourWrites>
  /** Puts the write-ahead log back into the file when it has grown large. What a reader still needs of it stays. */
  trimLog(): Promise<void>
  /** Waits, at most 10 s, while readers keep a long log from being put back: before each piece of what could as well be written later. */
  shortLog(signal: AbortSignal): Promise<void>
  /** Events after `seq`, oldest first. */
  events(after: number, limit: number): Promise<EventEnvelope[]>
}
export const Store = token<Store>('store')

/** An effect as the statements that it is, in order, and the rows of its events; see `EffectKind` for the two marks. */
export interface PlannedEffect {
  events: readonly Statement[]
  statements: readonly Statement[]
  must: boolean
  always: boolean
}

/** The part that is the same for every engine: turns writes into statements, and reports what was committed. */
export interface EffectPlanner {
  /** @throws when an effect is unknown or its payload breaks its schema */
  plan(effects: readonly Effect[], now: number): PlannedEffect[]
  /** Plans only the effects that are written in any case, also when others cannot be planned. */
  planAlways(effects: readonly Effect[], now: number): PlannedEffect[]
  /**
   * Called after the transaction, so that only what happened is announced. @param woken makes the loop of this process
   * look
   */
  announce(effects: readonly Effect[], woken: () => void): Promise<void> | undefined
}

/**
 * What is in files of `.svc/` where a project is on one machine, in tables: by the file's path below that folder. It is provided
 * where several machines share what agents know.
 */
export interface SharedFiles {
  /** A file that is replaced as a whole; undefined where there is none. */
  read(path: string): Promise<{ text: string; version: number } | undefined>
  /** Writes it, if it still is of this version; 0 for one that is not there. @returns whether it was */
  replace(path: string, text: string, version: number): Promise<boolean>
  /** @returns whether there was one */
  remove(path: string): Promise<boolean>
  /** Returns the paths with a prefix, sorted, each with the time of its last write in milliseconds. */
  list(prefix: string): Promise<{ path: string; at: number }[]>
  /** Returns the lines after line `after`, in order. `version` counts the rewrites of the file. */
  lines(path: string, after: number): Promise<{ version: number; lines: { n: number; line: string }[] }>
  append(path: string, lines: readonly string[]): Promise<void>
  /**
   * Rewrites all lines, if they were not rewritten since this version nor appended to after this line. @returns the
   * last line's number
   */
  rewrite(path: string, lines: readonly string[], version: number, after: number): Promise<number | undefined>
}
export const SharedFiles = token<SharedFiles>('shared_files')

/** What an engine is given to open a project's database with. */
export interface EngineParts {
  url: string
  planner: EffectPlanner
  /** The schema's steps, in order, as SQLite takes them. */
  schema: readonly { name: string; sql: string }[]
  /** Milliseconds from one cycle of an agent to the next. */
  heartbeat: () => number
  /** Milliseconds that an agent rests after a cycle, however often it is woken. */
  rest: () => number
}

export interface OpenedStore {
  store: Store
  scheduler: Scheduler & {
    /** Brings forward what is further away than the heartbeat now is. */
    reschedule(): Promise<void>
  }
  close(): Promise<void>
}

/** Another engine than the embedded one. It is chosen by the scheme of `store.url`. */
export interface StoreEngine {
  scheme: string
  open(parts: EngineParts): Promise<OpenedStore>
}
/** The schema's steps, for an engine that takes over from another. */
export const StoreSchema = token<EngineParts['schema']>('store_schema')
export const StoreEngines = point<StoreEngine>('store_engines', {
  key: engine => engine.scheme,
  has: { scheme: 'text', open: 'function' },
})

export const DatabaseUnreachableError = defineError({
  code: 'database_unreachable',
  status: 503,
  title: 'Database unreachable',
  message: (p: { at: string; problem: string }) =>
    `The database at ${p.at} cannot be reached (${p.problem}); it is tried again by itself.`,
})

export const DatabaseLockedError = defineError({
  code: 'database_locked',
  status: 503,
  title: 'Database locked',
  message: () => 'Another process has held the database for more than 5 s; try again.',
})
/** What `DiskFullError` says of the database. */
export const DATABASE_FULL = { what: "the project's database", next: ', and all goes on by itself' }
export const DiskFailedError = defineError({
  code: 'disk_failed',
  status: 503,
  title: 'Disk failed',
  message: (p: { problem: string }) =>
    `The disk that holds the project's database failed (${p.problem}); what was to be written is not.`,
})
export const RemovedMeanwhileError = defineError({
  code: 'removed_meanwhile',
  status: 409,
  title: 'Removed meanwhile',
  message: () => 'What this belongs to was removed while it was being written; nothing was changed.',
})
export const DatabaseUnusableError = defineError({
  code: 'database_unusable',
  status: 503,
  title: 'Database unusable',
  // The path is relative to the project: an answer shows no path of this machine.
  message: (p: { file: string; problem: string; remedy: string }) =>
    `${p.file.replace(/^.*\/(?=\.svc\/)/, '')} ${p.problem}; ${p.remedy}.`,
})
export const NativeModuleError = defineError({
  code: 'native_module',
  status: 503,
  title: 'Native module',
  message: (p: { problem: string }) =>
    `SQLite's native module cannot be loaded (${p.problem}); svc doctor says what to do.`,
})
export const DatabaseInUseError = defineError({
  code: 'database_in_use',
  status: 409,
  title: 'Database in use',
  message: (p: { file: string }) =>
    `A process has ${p.file} open, so it was not replaced; stop the service (svc stop, and svc serve) and try again.`,
})
export const FileExistsError = defineError({
  code: 'file_exists',
  status: 409,
  title: 'File exists',
  message: (p: { file: string }) => `${p.file} exists and was not overwritten; name another file.`,
})

/** What a database's file is found to be. */
export interface DatabaseReport {
  file: string
  /** Of the schema. */
  version: number
  bytes: number
  /** What is wrong with it; empty when all is well. */
  faults: string[]
}

/** What is done with a database's file as such, without bringing up a process of the project. */
export interface DatabaseFiles {
  /** The version of SQLite itself. @throws when its native module cannot be loaded */
  engineVersion(): Promise<string>
  /** Returns whether another process has held the write lock longer than one of our commits takes. */
  isLocked(file: string, ports: Ports): Promise<boolean>
  /** Returns why the files must not be opened where they lie, or undefined. A command that writes is refused with it. */
  lossOf(file: string, ports: Ports): Promise<SvcError | undefined>
  /** Copies the files as they are at one moment, to be opened instead of them, and changes nothing where they lie. */
  snapshot(file: string, ports: Ports): Promise<{ file: string; discard(): Promise<void> }>
  checkDatabase(file: string, ports: Ports): Promise<DatabaseReport>
  backupDatabase(file: string, target: string, ports: Ports): Promise<DatabaseReport>
  restoreDatabase(
    file: string,
    source: string,
    keep: string,
    ports: Ports,
  ): Promise<DatabaseReport & { kept: string | null }>
}

/** The file that a process opens instead of the project's database: a copy, for a process that must change nothing. */
export const DatabaseCopy = token<string>('database_copy')

/** A database's file that is not the project's own one, as it is filled or read as a whole. */
export interface DatabaseImage {
  all<R>(sql: string, params?: readonly unknown[]): R[]
  /** All or none of them. */
  write(statements: readonly Statement[]): Promise<void>
  close(): void
}

/** Such files, for an engine that writes what it has into one, or takes it from there. */
export interface DatabaseImages {
  /** Opens one that has the schema of this program, and makes it where there is none. */
  open(file: string): Promise<DatabaseImage>
  /** Copies one and looks the copy through. @throws FileExistsError, DatabaseUnusableError */
  copy(file: string, target: string): Promise<DatabaseReport>
  /** Puts one in the place of the project's file, which is kept. @throws DatabaseInUseError */
  put(file: string, keep: string): Promise<DatabaseReport & { kept: string | null }>
}
export const DatabaseImages = token<DatabaseImages>('database_images')

/** A connection to SQLite, as the store uses it. */
export interface Connection {
  prepare(sql: string): {
    run(...params: unknown[]): { changes: number }
    all(...params: unknown[]): unknown[]
    get(...params: unknown[]): unknown
    columns(): { name: string }[]
  }
  exec(sql: string): unknown
  pragma(sql: string, options: { simple: true }): unknown
  serialize(): Buffer
  close(): unknown
  readonly inTransaction: boolean
  readonly open: boolean
}

/** Stands between the store and its database, where one provides it: for disks that fail on purpose. */
export interface Medium {
  /** @param open makes a connection to a file, or to one in memory */
  connect(file: string, open: (file: string) => Connection): Connection
}
export const Medium = token<Medium>('store_medium')

/** A moment, as people give it. */
export const Instant = z.iso.datetime({ offset: true, error: 'must be a time such as 2026-01-31T18:00:00Z' })
/** What lists take whose rows have a date. */
export const DatedPage = Page.extend({
  since: Instant.optional().describe('Only from this time on'),
  before: Instant.optional().describe('Only before this time'),
  order: z.enum(['newest', 'oldest']).default('newest').describe('Which come first'),
})
export interface ListWindow {
  limit?: number | undefined
  offset?: number | undefined
  order?: 'newest' | 'oldest' | undefined
}
/** The database, as an invariant reads it. */
export interface Look {
  all<R>(sql: string, params?: readonly unknown[]): R[]
  get<R>(sql: string, params?: readonly unknown[]): R | undefined
  /** Milliseconds since 1970. */
  readonly now: number
}

/** What must hold after each transaction. `svc simulate` checks it. */
export interface Invariant {
  name: string
  /** The promise to users, as a sentence. */
  promise: string
  /** Checked after each transaction that wrote to one of these tables. */
  tables: readonly string[]
  /** Returns the rows that violate it, or a sentence; undefined when it holds. */
  broken(look: Look): string | undefined
}
/** Invariants of plugins. */
export const Invariants = point<Invariant>('invariants', {
  key: invariant => invariant.name,
  has: { name: 'text', promise: 'text', tables: 'list', broken: 'function' },
})
