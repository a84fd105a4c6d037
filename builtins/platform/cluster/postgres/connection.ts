import { hostname } from 'node:os'
import type pg from 'pg'
import { type Clock, errorMessage } from '#kernel'
import { DiskFullError, MissingDependencyError } from '#lib/errors'
import { DATABASE_FULL, DatabaseLockedError, DatabaseUnreachableError } from '#platform/store/contract'
import { unescapeText } from './dialect.ts'
import { type Answer, type Column, Message, type OnDone, type StatementMessage } from './message.ts'
import { type PreparedQuery, unpreparedMessage } from './prepared-statements.ts'

/** How long a statement is retried while the database cannot be reached or a lock is held, in milliseconds. */
export const LIMIT_MS = 5_000
/** Pauses between retries, in milliseconds. */
const FIRST_PAUSE_MS = 10
const LONGEST_PAUSE_MS = 250
/** Maximum number of connections per process. */
const CONNECTIONS = 8
/** Maximum number of prepared statements per connection. */
const MOST_KEPT = 400

/**
 * Settings of each session, whatever the server's defaults. A slow statement, or a transaction left open, would block
 * all other writes. A low page cost makes plans cached for a small table use the index when the table has grown.
 */
const SESSION = `SET statement_timeout = '10s'; SET lock_timeout = '2s'; SET idle_in_transaction_session_timeout = '2s';
  SET standard_conforming_strings = on; SET random_page_cost = 1.1`

/** Name of a process's connections in the database, which keeps 63 characters of it. */
export const connectionName = () => `svc ${hostname().slice(0, 48)}:${process.pid}`

/**
 * SQLSTATE of a prepared statement that is missing or exists already: another client used the connection in between.
 */
const NOT_KEPT = ['26000', '42P05']

type Row = Record<string, unknown>
export type Result = pg.QueryResult<Row>

/** Statements that a connection has prepared: their names, and the columns of those that return rows. */
interface PreparedStatements {
  names: Set<string>
  columns: Map<string, readonly Column[]>
}

/** Connections to a database that several machines share. */
export class Connections {
  readonly #pool: pg.Pool
  readonly #kept = new WeakMap<pg.PoolClient, PreparedStatements>()
  readonly #reader: pg.CustomTypesConfig['getTypeParser']
  /** Whether statements are prepared; false behind a pooler that shares connections between transactions. */
  #keeps = true
  readonly #clock: Clock
  /** Address of the server, without secrets. */
  readonly at: string

  private constructor(pool: pg.Pool, reader: pg.CustomTypesConfig['getTypeParser'], clock: Clock, at: string) {
    this.#pool = pool
    this.#reader = reader
    this.#clock = clock
    this.at = at
    // An idle connection that breaks is replaced on the next request; one in use reports its error there.
    pool.on('error', () => {})
    pool.on('connect', client => client.on('error', () => {}))
  }

  /** @throws MissingDependencyError if the package `pg` is not installed */
  static async open(url: string, clock: Clock): Promise<Connections> {
    const { Pool } = await driver()
    const settings = { connectionString: url, max: CONNECTIONS, keepAlive: true, application_name: connectionName() }
    // Longer than the server's own limits: these are for a server that no longer answers.
    const limits = { connectionTimeoutMillis: LIMIT_MS, query_timeout: 15_000, idleTimeoutMillis: 60_000 }
    const onConnect = (client: pg.ClientBase) => client.query(SESSION)
    const reading = await types()
    const pool = new Pool({ ...settings, ...limits, types: reading, onConnect })
    return new Connections(pool, reading.getTypeParser, clock, place(url))
  }

  /** Runs one statement, or several in one message, in one transaction and one round trip. */
  async query(text: string): Promise<Result[]> {
    const results = (await this.#pool.query<Row>(text)) as Result | Result[]
    return Array.isArray(results) ? results : [results]
  }

  /**
   * Runs statements of modules in one message. Repeated statements are prepared once per connection, because parsing
   * and planning are most of the server's work.
   */
  async ask(parts: readonly (string | PreparedQuery)[]): Promise<Answer[]> {
    const client = await this.#pool.connect()
    const kept = this.#kept.get(client) ?? { names: new Set(), columns: new Map() }
    this.#kept.set(client, kept)
    const fresh: PreparedQuery[] = []
    let broken = true
    try {
      const full = kept.names.size >= MOST_KEPT
      if (full) kept.names.clear()
      const message = full ? [unpreparedMessage('DEALLOCATE ALL')] : []
      for (const part of parts) {
        if (typeof part === 'string') message.push(unpreparedMessage(part))
        else if (!this.#keeps || !part.isWorthPreparing) message.push(part.fullMessage)
        else {
          const known = kept.names.has(part.name)
          message.push(part.statement(known))
          if (known) continue
          kept.names.add(part.name)
          fresh.push(part)
        }
      }
      const answers = await this.#say(client, message, kept.columns)
      broken = false
      return full ? answers.slice(1) : answers
    } catch (error) {
      // It is unknown which new statements were prepared. Without new ones, the server may only have refused a
      // statement.
      broken = fresh.length > 0 || !isSaid(error)
      if (NOT_KEPT.includes(codeOf(error))) this.#keeps = false
      else if (fresh.length === 0 || !codeOf(error).startsWith('42')) throw error
      for (const part of fresh) part.refuse()
    } finally {
      client.release(broken)
    }
    return this.ask(parts)
  }

  #say(
    client: pg.PoolClient,
    statements: readonly StatementMessage[],
    columns: PreparedStatements['columns'],
  ): Promise<Answer[]> {
    return new Promise((resolve, reject) => {
      const message = new Message(statements, columns, this.#reader)
      const query = client.query.bind(client) as unknown as (message: Message, done: OnDone) => void
      query(message, (error, answers) => (error ? reject(error) : resolve(answers)))
    })
  }

  /** Runs several messages as one transaction, for rare operations. */
  async transaction(work: (query: (text: string) => Promise<Result>) => Promise<void>): Promise<void> {
    const client = await this.#pool.connect()
    let broken: unknown
    try {
      await client.query('BEGIN')
      await work(async text => {
        const results = (await client.query<Row>(text)) as Result | Result[]
        return Array.isArray(results) ? results.at(-1)! : results
      })
      await client.query('COMMIT')
    } catch (error) {
      broken = error
      throw error
    } finally {
      // A connection with an aborted transaction is not reused.
      client.release(broken !== undefined)
    }
  }

  /**
   * Retries `work` while the database cannot be reached or a lock is held.
   * @param limit_ms maximum duration, in milliseconds
   * @throws DatabaseUnreachableError, DatabaseLockedError after this time; any other error at once
   */
  async retry<T>(work: () => Promise<T>, limit_ms = LIMIT_MS): Promise<T> {
    let began: number | undefined
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        return await work()
      } catch (error) {
        const held = isHeld(error)
        if (!held && !isBroken(error)) throw toStoreError(error)
        const now = this.#clock.monotonic()
        began ??= now
        if (now - began + pause > limit_ms) {
          if (held) throw new DatabaseLockedError(undefined, { cause: error, retryAfter: 1 })
          const reason = { at: this.at, problem: errorMessage(error) }
          throw new DatabaseUnreachableError(reason, { cause: error, retryAfter: 1 })
        }
      }
      await this.#clock.sleep(pause)
    }
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }
}

interface ListenerParts {
  url: string
  channel: string
  clock: Clock
  /** @param payload undefined if notices may have been missed */
  onNotice: (payload: string | undefined) => void
}

/** A separate connection that listens on a channel, and reconnects by itself. */
export class Listener {
  readonly #parts: ListenerParts
  readonly #stop = new AbortController()
  readonly #ended: Promise<void>
  #client: pg.Client | undefined

  constructor(parts: ListenerParts) {
    this.#parts = parts
    this.#ended = this.#run()
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#client?.end().catch(() => {})
    await this.#ended
  }

  async #run(): Promise<void> {
    const { url, channel, clock, onNotice } = this.#parts
    const { Client } = await driver()
    for (let pause = FIRST_PAUSE_MS; !this.#stop.signal.aborted; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      const settings = { connectionString: url, keepAlive: true, application_name: connectionName() }
      const client = new Client({ ...settings, connectionTimeoutMillis: LIMIT_MS })
      this.#client = client
      const gone = new Promise<void>(resolve => {
        client.on('error', () => resolve())
        client.on('end', () => resolve())
      })
      try {
        // `connect` never settles if the client is ended meanwhile.
        await Promise.race([client.connect(), gone])
        client.on('notification', ({ payload }) => onNotice(payload))
        await client.query(`LISTEN ${channel}`)
        onNotice(undefined)
        pause = FIRST_PAUSE_MS
        if (!this.#stop.signal.aborted) await gone
      } catch {
        // Retried below. Until then, the loop finds due agents by polling.
      }
      await client.end().catch(() => {})
      await clock.sleep(pause, this.#stop.signal)
    }
  }
}

async function driver(): Promise<typeof pg> {
  try {
    return (await import('pg')).default
  } catch (error) {
    throw new MissingDependencyError({ package: 'pg', purpose: 'a PostgreSQL database' }, { cause: error })
  }
}

/**
 * Returns parsers that give the same values as SQLite: numbers for numeric types, 1 or 0 for booleans, and strings with
 * any character.
 */
async function types(): Promise<pg.CustomTypesConfig> {
  const { types } = await driver()
  const { BOOL, INT8, NUMERIC, TEXT } = types.builtins
  const numeric: readonly number[] = [INT8, NUMERIC]
  return {
    getTypeParser: ((id: number, format: 'text') => {
      if (id === BOOL) return (text: string) => (text === 't' ? 1 : 0)
      if (id === TEXT) return unescapeText
      return numeric.includes(id) ? Number : types.getTypeParser(id, format)
    }) as typeof types.getTypeParser,
  }
}

/** Returns a URL without its secrets. */
export function place(url: string): string {
  try {
    const { hostname, port, pathname } = new URL(url)
    return `${hostname || 'localhost'}${port ? `:${port}` : ''}${pathname}`
  } catch {
    return 'store.url'
  }
}

/** Returns the SQLSTATE of a server error, or the code of a system error; empty for others. */
export function codeOf(error: unknown): string {
  return (error as { code?: string }).code ?? ''
}

/** Returns whether the server refused a statement and is ready for the next. */
export function isSaid(error: unknown): boolean {
  return (error as { severity?: string }).severity !== undefined && !isBroken(error)
}

/** Returns whether the cause was a lock timeout or a deadlock, so that nothing was written. */
function isHeld(error: unknown): boolean {
  return ['55P03', '40P01', '40001'].includes(codeOf(error))
}

/** Returns whether the connection or the server was lost, so that the outcome is unknown, or the server is a standby. */
function isBroken(error: unknown): boolean {
  const code = codeOf(error)
  if (/^(08...|57P0[1-5]|25006|25P03|53300)$/.test(code)) return true
  // A newer program has changed a table meanwhile.
  if (code === '0A000' && /cached plan/.test(errorMessage(error))) return true
  if (/^E(CONN|PIPE|HOST|NET|TIMEDOUT|AI_AGAIN)/.test(code)) return true
  return (
    code === '' &&
    /^(Connection terminated|timeout exceeded|Query read timeout|Client has encountered)/.test(errorMessage(error))
  )
}

function toStoreError(error: unknown): unknown {
  if (codeOf(error) === '53100') return new DiskFullError(DATABASE_FULL, { cause: error, retryAfter: 5 })
  return error
}
