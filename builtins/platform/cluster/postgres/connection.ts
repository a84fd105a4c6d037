import { hostname } from 'node:os'
import type pg from 'pg'
import { type Clock, errorMessage } from '#kernel'
import { DiskFullError, MissingDependencyError } from '#lib/errors'
import { DATABASE_FULL, DatabaseLockedError, DatabaseUnreachableError } from '#platform/store/contract'
import { unescapeText } from './dialect.ts'
import { type Answer, type Column, Message, type OnDone, type StatementMessage } from './message.ts'
import { type PreparedQuery, unpreparedMessage } from './prepared-statements.ts'

/** How long a statement is tried again while the database cannot be reached or a lock is held, in milliseconds. */
export const LIMIT_MS = 5_000
/** Pauses between tries, in milliseconds. */
const FIRST_PAUSE_MS = 10
const LONGEST_PAUSE_MS = 250
/** Connections of one process. */
const CONNECTIONS = 8
/** Statements that the server keeps for one of them. */
const MOST_KEPT = 400

/**
 * Settings of a session, however the database was set up. A statement of this length, or a transaction that its process
 * leaves open, would block all other writes. A cached plan may be from when a table was small: it must use the index
 * then too.
 */
const SESSION = `SET statement_timeout = '10s'; SET lock_timeout = '2s'; SET idle_in_transaction_session_timeout = '2s';
  SET standard_conforming_strings = on; SET random_page_cost = 1.1`

/** Name of a process's connections in the database, which keeps 63 characters of it. */
export const connectionName = () => `svc ${hostname().slice(0, 48)}:${process.pid}`

/** There is no statement of this name, or one already: the connection was used by another client in between. */
const NOT_KEPT = ['26000', '42P05']

type Row = Record<string, unknown>
export type Result = pg.QueryResult<Row>

/** Statements that the server keeps for a connection: their names, and what those give that give rows. */
interface PreparedStatements {
  names: Set<string>
  columns: Map<string, readonly Column[]>
}

/** Connections to the database of several machines. What can be tried again, is. */
export class Connections {
  readonly #pool: pg.Pool
  readonly #kept = new WeakMap<pg.PoolClient, PreparedStatements>()
  readonly #reader: pg.CustomTypesConfig['getTypeParser']
  /** Whether statements are prepared: not behind a pool that shares connections between transactions. */
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

  /** @throws MissingDependencyError without the package that speaks to PostgreSQL */
  static async open(url: string, clock: Clock): Promise<Connections> {
    const { Pool } = await driver()
    const settings = { connectionString: url, max: CONNECTIONS, keepAlive: true, application_name: connectionName() }
    // Longer than the server's own limits: for a server that no longer answers.
    const limits = { connectionTimeoutMillis: LIMIT_MS, query_timeout: 15_000, idleTimeoutMillis: 60_000 }
    const onConnect = (client: pg.ClientBase) => client.query(SESSION)
    const reading = await types()
    const pool = new Pool({ ...settings, ...limits, types: reading, onConnect })
    return new Connections(pool, reading.getTypeParser, clock, place(url))
  }

  /** One statement, or several in one message: together they are one transaction and one round trip. */
  async query(text: string): Promise<Result[]> {
    const results = (await this.#pool.query<Row>(text)) as Result | Result[]
    return Array.isArray(results) ? results : [results]
  }

  /**
   * The same with statements of modules. The server parses and plans repeated statements once for each connection,
   * which is most of its work.
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
      const said = full ? [unpreparedMessage('DEALLOCATE ALL')] : []
      for (const part of parts) {
        if (typeof part === 'string') said.push(unpreparedMessage(part))
        else if (!this.#keeps || !part.isWorthPreparing) said.push(part.fullMessage)
        else {
          const known = kept.names.has(part.name)
          said.push(part.statement(known))
          if (known) continue
          kept.names.add(part.name)
          fresh.push(part)
        }
      }
      const answers = await this.#say(client, said, kept.columns)
      broken = false
      return full ? answers.slice(1) : answers
    } catch (error) {
      // What it had read is not known then; else the server has only said no.
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
    said: readonly StatementMessage[],
    columns: PreparedStatements['columns'],
  ): Promise<Answer[]> {
    return new Promise((resolve, reject) => {
      const message = new Message(said, columns, this.#reader)
      const query = client.query.bind(client) as unknown as (message: Message, done: OnDone) => void
      query(message, (error, answers) => (error ? reject(error) : resolve(answers)))
    })
  }

  /** Several messages as one transaction: for what is done once, not for what is done all the time. */
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
      // A connection that was in the middle of something is not given to others.
      client.release(broken !== undefined)
    }
  }

  /**
   * Tries `work` until the database takes it.
   * @param limit_ms for how long
   * @throws DatabaseUnreachableError, DatabaseLockedError when it does not do so in time, and at once what is no such thing
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
  /** @param payload undefined when something may have been missed */
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
        // One that is ended while it connects says nothing more of it.
        await Promise.race([client.connect(), gone])
        client.on('notification', ({ payload }) => onNotice(payload))
        await client.query(`LISTEN ${channel}`)
        onNotice(undefined)
        pause = FIRST_PAUSE_MS
        if (!this.#stop.signal.aborted) await gone
      } catch {
        // Tried again below. Until then the loop's own looking finds what is due.
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
    throw new MissingDependencyError({ package: 'pg', purpose: 'a database of several machines' }, { cause: error })
  }
}

/** Numbers are numbers, truth is 1 or 0, and a text holds any character, as SQLite has them. */
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

/** The SQLSTATE of an error of the server, the code of one of the system; empty for others. */
export function codeOf(error: unknown): string {
  return (error as { code?: string }).code ?? ''
}

/** The server has refused a statement, and waits for the next. */
export function isSaid(error: unknown): boolean {
  return (error as { severity?: string }).severity !== undefined && !isBroken(error)
}

/** A lock was waited for too long, or two transactions waited for each other: nothing was written. */
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
