import { join } from 'node:path'
import pg from 'pg'
import { project } from '../cli/project.ts'
import { RunningSvc } from '../support/cli.ts'
import { sendJson } from '../support/model/http.ts'
import { type PostgresServer, postgresServer, type TestDatabase, testDatabase } from '../support/postgres.ts'
import type { TempDir } from '../support/temp.ts'
import type { Line } from './cable.ts'

/** Duration of a lease, in seconds; short, so that a test need not wait long for its end. */
export const LEASE_S = 2

/** Two nodes have fewer slots than there are agents: the third always finds one to drive. */
const CONFIG = `daemon: { heartbeat: 0.5, min_rest: 0, max_concurrent_agents: 3, budget_usd: 1000 }
model: { sim_delay: 0.3 }
cluster: { lease: ${LEASE_S} }
`

/** One of several machines: a folder of its own, and the process that was started there. */
export interface Machine {
  dir: TempDir
  svc: RunningSvc
  /** URL of its server, if it has one. */
  url: string
}

/** Lease that a process holds. */
export interface HeldLease {
  id: string
  epoch: number
  cycle_num: number
}

interface MachineOptions {
  files?: Readonly<Record<string, string>>
  /** Connection to the database. */
  line?: Line
}

/** Simulates several machines on one: folders and processes of their own, on one database server. */
export class Machines {
  readonly server: PostgresServer
  readonly #database: TestDatabase
  readonly #all: Machine[] = []
  readonly #client: pg.Pool

  readonly #config: string

  private constructor(server: PostgresServer, database: TestDatabase, config: string) {
    this.server = server
    this.#config = config
    this.#database = database
    this.#client = new pg.Pool({ connectionString: database.url, max: 2 })
    this.#client.on('error', () => {})
  }

  static async open(config = CONFIG): Promise<Machines> {
    const server = await postgresServer()
    return new Machines(server, await testDatabase(server.url), config)
  }

  /** URL of the database. */
  get url(): string {
    return this.#database.url
  }

  /** Starts `svc` with these words in a folder of its own. */
  start(...words: string[]): Promise<Machine> {
    return this.startWith({}, ...words)
  }

  /** Does the same with these files in the folder, and with a connection of its own to the database. */
  async startWith({ files = {}, line }: MachineOptions, ...words: string[]): Promise<Machine> {
    const dir = await project({ '.svc/config.yaml': this.#config, ...files })
    const env = { SVC_STORE_URL: line?.url ?? this.url }
    const svc = new RunningSvc(words, { cwd: dir.path, env, within: line?.within ?? [] })
    const machine = { dir, svc, url: '' }
    this.#all.push(machine)
    if (words.includes('serve')) machine.url = (await svc.waitForOutput(/(http:\/\/127\.0\.0\.1:\d+)/))[1]!
    else await svc.waitForOutput(/^Logs: /m)
    return machine
  }

  async rows<R>(sql: string): Promise<R[]> {
    return (await this.#client.query(sql)).rows as R[]
  }

  async number(sql: string): Promise<number> {
    return Number(Object.values((await this.rows<Record<string, unknown>>(sql))[0] ?? {})[0] ?? 0)
  }

  /** Returns the leases of agents that a process holds. */
  async heldBy({ svc }: Machine): Promise<HeldLease[]> {
    const sql = `SELECT id, epoch::int, cycle_num::int FROM leases WHERE kind = 'agent' AND owner LIKE '%:${svc.pid}-%'`
    return this.rows(sql)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { svc } of this.#all) await svc[Symbol.asyncDispose]()
    await this.#client.end()
    await this.server.stop()
    for (const { dir } of this.#all) await dir[Symbol.asyncDispose]()
  }
}

export async function post(machine: Machine, path: string, body: object = {}): Promise<Record<string, unknown>> {
  const answer = await fetch(join(machine.url, path).replace(':/', '://'), sendJson(body))
  if (!answer.ok) throw new Error(`${path} was answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as Record<string, unknown>
}

/** Reads a number of events of a server's stream after a seq, then cuts the connection. */
export async function seqsFrom({ url }: Machine, after: number, count: number): Promise<number[]> {
  const cut = new AbortController()
  const headers = { 'last-event-id': String(after) }
  const answer = await fetch(`${url}/events`, { headers, signal: cut.signal })
  const seqs: number[] = []
  let text = ''
  for await (const bytes of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += bytes
    const whole = text.lastIndexOf('\n\n')
    if (whole < 0) continue
    const blocks = text.slice(0, whole).split('\n\n')
    text = text.slice(whole + 2)
    for (const block of blocks) if (/^event: message$/m.test(block)) seqs.push(Number(/^id: ?(\d+)$/m.exec(block)?.[1]))
    if (seqs.length >= count) break
  }
  cut.abort()
  return seqs.slice(0, count)
}

/** Waits for a condition in real time. @returns the time that took, in milliseconds */
export async function took(what: string, holds: () => Promise<boolean>, limit_ms = 30_000): Promise<number> {
  const began = performance.now()
  for (;;) {
    if (await holds().catch(() => false)) return performance.now() - began
    if (performance.now() - began > limit_ms) throw new Error(`within ${limit_ms} ms it did not come: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
