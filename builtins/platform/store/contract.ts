import { defineError, type Effect, type Ports, point, type SvcError, token, z } from '#kernel'
import { Page } from '#lib/list'
import type { CommitResult, Lease, Next, Scheduler } from '#platform/heartbeat/contract'

export { DiskFailedError } from '#lib/errors'
export {
  AMONG,
  allOf,
  type Condition,
  type Dates,
  datesIn,
  isoTime,
  jsonList,
  type Stored,
  usdOf,
} from './sql/columns.ts'
export { defineEffect, type EffectKind, Effects, insertIf, insertInto, isOptional } from './sql/effects.ts'
export {
  type AppendedEvent,
  appendEvent,
  EVENT_COLUMNS,
  newestSeq,
  RUN_OF,
  shownEvent,
  wakeAgents,
} from './sql/events.ts'
export { countRows, listColumn } from './sql/queries.ts'
export { getValue, setValue } from './sql/values.ts'

/** One SQL statement with its positional parameters. */
export interface Statement {
  sql: string
  params?: readonly unknown[]
}

/** An event, as stored or streamed. */
export const EventEnvelope = z.object({
  seq: z.int(),
  type: z.string(),
  v: z.int(),
  at: z.iso.datetime(),
  agent_id: z.string().nullable(),
  cycle_num: z.int().nullable(),
  run_id: z.string().nullable(),
  data: z.record(z.string(), z.unknown()),
  agent_name: z
    .string()
    .nullish()
    .describe('Current name of the agent; null for none and for a deleted one; only in lists and streams'),
})
export type EventEnvelope = z.infer<typeof EventEnvelope>

/** An event's stored row: its time in milliseconds, its data as JSON. */
export type EventRow = Omit<EventEnvelope, 'at' | 'data'> & { at: number; data: string }

/** Reads the writes that other processes report. */
export interface NeighbourWrites {
  /** Reads reported writes, about once a second. @returns whether the content or order of a write is unknown */
  look(): Promise<boolean>
  end(): Promise<void>
}

/**
 * The database. Writes go through `commit` and `apply` only. Every method waits up to 5 s for another process's lock.
 */
export interface Store {
  /** Writes a cycle's effects and the lease's next state in one transaction, if the lease is still held. */
  commit(lease: Lease, effects: readonly Effect[], next: Next): Promise<CommitResult>
  /**
   * Writes from outside a cycle. @returns false when a must-change effect changed nothing; only `always` effects were
   * written then
   */
  apply(effects: readonly Effect[]): Promise<boolean>
  /** Returns all rows of a query. Reads never wait for writers. */
  all<R>(sql: string, params?: readonly unknown[]): Promise<R[]>
  /** Returns all rows of a long list at half the cost; only for strings, integers and nulls. */
  many<R>(sql: string, params?: readonly unknown[]): Promise<R[]>
  /** Returns the result of `read`, cached under the key for half a second while nothing is written. */
  readCached<T>(key: string, read: () => Promise<T>): Promise<T>
  /** @deprecated Use `readCached`. */
  unchanged?: Store['readCached']
  /**
   * Waits until something is written, polling about once a second.
   * @param seen the last result; '' for the first call
   * @returns the current state; also when the signal is aborted
   */
  waitForChange(seen: string, signal?: AbortSignal): Promise<string>
  /** @deprecated Use `waitForChange`. */
  changed?: Store['waitForChange']
  /** Returns the first row of a query. */
  get<R>(sql: string, params?: readonly unknown[]): Promise<R | undefined>
  /** Returns the first row, synchronously where the engine can; for frequent queries. */
  glance<R>(sql: string, params?: readonly unknown[]): R | undefined | Promise<R | undefined>
  /** Name of this process in its leases. */
  readonly owner: string
  /** Machine and project whose files show which processes are alive, for a database shared by several machines. */
  readonly place: string
  /** Returns whether daemons of other places, or of the given one, use this database now. */
  hasOtherDaemons(place?: string): Promise<boolean>
  /** @deprecated Use `hasOtherDaemons`. */
  elsewhere?: Store['hasOtherDaemons']
  /**
   * Releases the leases of this machine's other processes, except the living ones. Called by the project's only daemon
   * when it starts.
   */
  recover(living: readonly string[]): Promise<number>
  /** Releases leases of dead processes. @returns the number of leases */
  free(owners: readonly string[]): Promise<number>
  /** Throws when the database cannot be reached, or was removed or replaced. */
  health(): Promise<void>
  /**
   * Frees the space of removed rows, a few pages at a time, until the signal is aborted. @returns the number of bytes
   * freed
   */
  shrink(signal: AbortSignal): Promise<number>
  /** Copies the current database, without the space of removed rows, to a new file. Absent where the engine cannot. */
  copyTo?(file: string): Promise<void>
  /**
   * Returns the bytes of a copy with all pages: many times faster than `copyTo`, and larger. Absent where the engine
   * cannot.
   */
  image?(): Promise<Buffer>
  /**
   * Makes the project's other processes report all their writes from now on, to record them in order among this
   * process's own reads and writes. One process at a time. Absent where the engine cannot.
   */
  startWriteReports?(): Promise<NeighbourWrites>
  /** @deprecated Use `startWriteReports`. */
  overhear?: Store['startWriteReports']
  /** Checkpoints a large write-ahead log into the file. Parts that a reader still needs stay. */
  trimLog(): Promise<void>
  /**
   * Waits, at most 10 s, while readers prevent a checkpoint of a long log. Called before each part of a write that can
   * be deferred.
   */
  shortLog(signal: AbortSignal): Promise<void>
  /** Returns events after `seq`, oldest first. */
  events(after: number, limit: number): Promise<EventEnvelope[]>
}
export const Store = token<Store>('store')

/** An effect's statements, in order, and the rows of its events; see `EffectKind` for the two flags. */
export interface PlannedEffect {
  events: readonly Statement[]
  statements: readonly Statement[]
  must: boolean
  always: boolean
}

/** The engine-independent part: turns effects into statements, and emits events after the commit. */
export interface EffectPlanner {
  /** Plans effects as statements. @throws when an effect is unknown or its payload violates its schema */
  plan(effects: readonly Effect[], now: number): PlannedEffect[]
  /** Plans only the `always` effects, also when others cannot be planned. */
  planAlways(effects: readonly Effect[], now: number): PlannedEffect[]
  /** Emits the committed events, after the transaction. @param woken makes this process's loop check for due agents */
  announce(effects: readonly Effect[], woken: () => void): Promise<void> | undefined
}

/**
 * Tables that replace files in `.svc/`, by path below that folder. Provided where several machines share an agent's
 * knowledge.
 */
export interface SharedFiles {
  /** Returns a file that is replaced as a whole; undefined if it does not exist. */
  read(path: string): Promise<{ text: string; version: number } | undefined>
  /**
   * Writes the file if its version is unchanged; version 0 means that it does not exist. @returns whether it was
   * written
   */
  replace(path: string, text: string, version: number): Promise<boolean>
  /** Removes a file. @returns whether it existed */
  remove(path: string): Promise<boolean>
  /** Returns the paths with a prefix, sorted, each with the time of its last write in milliseconds. */
  list(prefix: string): Promise<{ path: string; at: number }[]>
  /** Returns the lines after line `after`, in order. `version` counts the rewrites of the file. */
  lines(path: string, after: number): Promise<{ version: number; lines: { n: number; line: string }[] }>
  append(path: string, lines: readonly string[]): Promise<void>
  /**
   * Rewrites all lines if the version is unchanged and no line was appended after line `after`. @returns the last
   * line's number
   */
  rewrite(path: string, lines: readonly string[], version: number, after: number): Promise<number | undefined>
}
export const SharedFiles = token<SharedFiles>('shared_files')

/** What an engine needs to open a project's database. */
export interface EngineParts {
  url: string
  planner: EffectPlanner
  /** The schema steps, in order, in SQLite's dialect. */
  schema: readonly { name: string; sql: string }[]
  /** Milliseconds between two cycles of an agent. */
  heartbeat: () => number
  /** Minimum rest of an agent after a cycle, in milliseconds, even when it is woken. */
  rest: () => number
}

export interface OpenedStore {
  store: Store
  scheduler: Scheduler & {
    /** Brings forward starts that are further away than the current heartbeat interval. */
    reschedule(): Promise<void>
  }
  close(): Promise<void>
}

/** An engine other than the embedded one, chosen by the scheme of `store.url`. */
export interface StoreEngine {
  scheme: string
  open(parts: EngineParts): Promise<OpenedStore>
}
/** The schema steps, for an engine that replaces another. */
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
    `The database at ${p.at} cannot be reached (${p.problem}); svc retries automatically.`,
})

export const DatabaseLockedError = defineError({
  code: 'database_locked',
  status: 503,
  title: 'Database locked',
  message: () => 'Another process has held the database for more than 5 s; try again.',
})
/** Parts of the `DiskFullError` message for the database. */
export const DATABASE_FULL = { what: "the project's database", next: ', and the service continues automatically' }
export const RemovedMeanwhileError = defineError({
  code: 'removed_meanwhile',
  status: 409,
  title: 'Removed during the write',
  message: () => 'The record that this data belongs to was removed during the write; nothing was changed.',
})
/** The database file is damaged, empty, replaced, of another program or of a later version of svc. */
export const DatabaseUnusableError = defineError({
  code: 'database_unusable',
  status: 503,
  title: 'Database unusable',
  // The path is relative to the project, so that responses expose no path of this machine.
  message: (p: { file: string; problem: string; remedy: string }) =>
    `${p.file.replace(/^.*\/(?=\.svc\/)/, '')} ${p.problem}; ${p.remedy}.`,
})
export const NativeModuleError = defineError({
  code: 'native_module',
  status: 503,
  title: 'Native module not loadable',
  message: (p: { problem: string }) =>
    `SQLite's native module cannot be loaded (${p.problem}); run svc doctor to find out what to do.`,
})
export const DatabaseInUseError = defineError({
  code: 'database_in_use',
  status: 409,
  title: 'Database in use',
  message: (p: { file: string }) =>
    `A process has ${p.file} open, so it was not replaced; stop the service (svc stop, and svc serve) and try again.`,
})
/** The schema is older than this program needs, and a process that may be of an older version has the database open. */
export const MigrationBlockedError = defineError({
  code: 'migration_blocked',
  status: 503,
  title: 'Migration blocked',
  message: (p: { version: number; needed: number; by: string }) =>
    `The database has schema version ${p.version} and this version of svc needs ${p.needed}, but ${p.by}, probably of an older version, has it open; nothing was changed. Stop it first (svc stop, and svc serve), then try again.`,
})
export const InvalidMigrationsError = defineError({
  code: 'invalid_migrations',
  status: 400,
  title: 'Invalid migrations',
  message: (p: { plugin: string }) =>
    `svc.migrations of ${p.plugin} takes a list of texts, one SQL statement each, such as ['CREATE TABLE …'].`,
})
export const PluginMigrationError = defineError({
  code: 'plugin_migration',
  status: 500,
  title: 'Migration of a plugin failed',
  message: (p: { plugin: string; file?: string; step: number; problem: string }) =>
    `Step ${p.step} of the migrations of ${p.plugin}${p.file ? ` (${p.file})` : ''} did not run: ${p.problem}.`,
})

/** The migrations of a plugin, each one SQL statement, in order. They are counted apart from those of the modules. */
export const PluginMigrations = point<{ name: string; steps: readonly string[] }>('plugin_migrations', {
  key: ({ name }) => name,
  has: { name: 'text' },
})

declare module '#kernel' {
  interface PluginHandle {
    /**
     * Runs SQL statements that make the plugin's own tables: each once per database, in order, before the plugin's
     * resources start. Add new ones at the end, and change none. Needs `store` in `needs`.
     * @throws InvalidMigrationsError
     */
    migrations(steps: readonly string[]): void
  }
}

export const FileExistsError = defineError({
  code: 'file_exists',
  status: 409,
  title: 'File exists',
  message: (p: { file: string }) => `${p.file} exists and was not overwritten; name another file.`,
})

/** Result of a database file's check. */
export interface DatabaseReport {
  file: string
  /** Version of the schema. */
  version: number
  bytes: number
  /** Faults found; empty when the file is valid. */
  faults: string[]
}

/** Operations on database files, without starting a process of the project. */
export interface DatabaseFiles {
  /** Version of the schema that this program needs. */
  schemaVersion: number
  /** Returns the version of SQLite. @throws when its native module cannot be loaded */
  engineVersion(): Promise<string>
  /** Returns whether another process has held the write lock longer than one of our commits takes. */
  isLocked(file: string, ports: Ports): Promise<boolean>
  /**
   * Returns why the files must not be opened in place, or undefined. Commands that write are refused with this error.
   */
  lossOf(file: string, ports: Ports): Promise<SvcError | undefined>
  /** Copies the files at one point in time, to be opened instead of the originals, which stay unchanged. */
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

/** Path of a copy that a process opens instead of the project's database, when it must change nothing. */
export const DatabaseCopy = token<string>('database_copy')

/** A database file other than the project's own, read or written as a whole. */
export interface DatabaseImage {
  all<R>(sql: string, params?: readonly unknown[]): R[]
  /** Runs all statements in one transaction. */
  write(statements: readonly Statement[]): Promise<void>
  close(): void
}

/** Database files for engines that export to or import from one. */
export interface DatabaseImages {
  /** Opens a file with the current schema, and creates it if it does not exist. */
  open(file: string): Promise<DatabaseImage>
  /** Opens an empty database in memory, with the current schema. */
  scratch?(): Promise<DatabaseImage>
  /** Copies a database file and checks the copy. @throws FileExistsError, DatabaseUnusableError */
  copy(file: string, target: string): Promise<DatabaseReport>
  /** Replaces the project's database with this file, and keeps the old one. @throws DatabaseInUseError */
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

/** Wraps the store's connections, if provided: to simulate failing disks. */
export interface Medium {
  /** @param open connects to a file, or to an in-memory database */
  connect(file: string, open: (file: string) => Connection): Connection
}
export const Medium = token<Medium>('store_medium')

/** A point in time, as users write it. */
export const Instant = z.iso.datetime({ offset: true, error: 'must be a time such as 2026-01-31T18:00:00Z' })
/** Parameters of lists whose rows have a date. */
export const DatedPage = Page.extend({
  since: Instant.optional().describe('Only entries from this time on'),
  before: Instant.optional().describe('Only entries before this time'),
  order: z.enum(['newest', 'oldest']).default('newest').describe('Sort order: which entries come first'),
})
export interface ListWindow {
  limit?: number | undefined
  offset?: number | undefined
  order?: 'newest' | 'oldest' | undefined
}
/** Read access to the database for an invariant. */
export interface Look {
  all<R>(sql: string, params?: readonly unknown[]): R[]
  get<R>(sql: string, params?: readonly unknown[]): R | undefined
  /** Milliseconds since 1970. */
  readonly now: number
}

/** A condition that must hold after each transaction. `svc simulate` checks it. */
export interface Invariant {
  name: string
  /** The guarantee to users, as a sentence. */
  promise: string
  /** Checked after each transaction that wrote to one of these tables. */
  tables: readonly string[]
  /** Returns the rows that violate it, or a message; undefined when it holds. */
  broken(look: Look): string | undefined
}
/** Invariants of plugins. */
export const Invariants = point<Invariant>('invariants', {
  key: invariant => invariant.name,
  has: { name: 'text', promise: 'text', tables: 'list', broken: 'function' },
})
