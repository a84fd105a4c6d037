import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { type Cycle, definePlugin, Kernel, type PluginDefinition, tool, z } from '#kernel'
import agents from '../../builtins/agents/index.ts'
import { insertAgent } from '../../builtins/agents/repository.ts'
import budget from '../../builtins/budget/index.ts'
import goals from '../../builtins/goals/index.ts'
import { Profile, Profiles } from '../../builtins/profiles/contract.ts'
import runtime from '../../builtins/runtime/index.ts'
import { Store } from '../../builtins/store/contract.ts'
import { Database } from '../../builtins/store/database.ts'
import store from '../../builtins/store/index.ts'
import { instantModel } from './instant-model.ts'

const profile = Profile.parse({ name: 'worker', role: 'takes notes' })

const world = definePlugin({
  name: 'profiles',
  setup(svc) {
    svc.provide(Profiles, {
      read: async () => profile,
      get: async () => profile,
      skills: async () => '',
      list: async () => [],
    })
    // Always due: what is measured is work, not waiting.
    svc.tap('cleanup', 'at-once', (cycle: Cycle) => {
      cycle.run_at = 0
    })
    svc.toolkit({
      name: 'notes',
      tools: [
        tool({
          name: 'note',
          description: 'Takes a note.',
          parameters: z.object({ text: z.string() }),
          execute: () => 'noted',
        }),
      ],
    })
  },
})

type Transaction = { sql: string; params: readonly unknown[] }[]

/** Everything that the run writes, transaction by transaction, as it goes to the database. */
function record(): { transactions: Transaction[]; stop(): void } {
  const { write, run, all } = Database.prototype
  const transactions: Transaction[] = []
  let current: Transaction | undefined
  const note = (sql: string, params: readonly unknown[] = []) => {
    if (!/^\s*SELECT/i.test(sql))
      current?.push({
        sql,
        params: params.map(value => (typeof value === 'boolean' ? Number(value) : (value ?? null))),
      })
  }
  Database.prototype.run = function (statement) {
    note(statement.sql, statement.params)
    return run.call(this, statement)
  }
  Database.prototype.all = function <R>(sql: string, params?: readonly unknown[]) {
    note(sql, params)
    return all.call(this, sql, params) as R[]
  }
  Database.prototype.write = function <T>(work: () => T) {
    return write.call(this, () => {
      current = []
      const result = work()
      transactions.push(current)
      current = undefined
      return result
    }) as Promise<T>
  }
  return { transactions, stop: () => void Object.assign(Database.prototype, { write, run, all }) }
}

export async function house(root: string, also: readonly PluginDefinition[] = []) {
  return Kernel.open({
    root,
    roles: ['daemon'],
    builtins: [store, instantModel, budget, world, agents, runtime, goals, ...also],
    ports: { env: {} },
    log: { level: 'error' },
  })
}

/** Drives agents until so many cycles have ended. @returns cycles per second */
export async function drive(kernel: Kernel, cycles: number): Promise<number> {
  let ended = 0
  const done = new Promise<void>(resolve => {
    kernel.hooks.on('cycle_end', () => void (++ended === cycles && resolve()))
  })
  const began = performance.now()
  kernel.heartbeat.start()
  await done
  const rate = cycles / ((performance.now() - began) / 1000)
  await kernel.heartbeat.stop()
  return rate
}

export async function prepare(count: number): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'svc-bench-'))
  const kernel = await house(root)
  const effects = Array.from({ length: count }, (_, n) =>
    insertAgent({ agent_id: `worker-${n}`, name: 'worker', role: '', model: '', preset: 'worker', spawned_by: null }),
  )
  await kernel.use(Store).apply(effects)
  await kernel.close()
  return root
}

/** The same writes in the same transactions, with nothing around them. */
function replay(file: string, transactions: readonly Transaction[]): number {
  const db = new Sqlite(file)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = NORMAL')
  db.pragma('cache_size = -16384')
  const prepared = new Map<string, Sqlite.Statement>()
  const statement = (sql: string) => {
    const made = prepared.get(sql) ?? db.prepare(sql)
    prepared.set(sql, made)
    return made
  }
  const commit = db.transaction((transaction: Transaction) => {
    for (const { sql, params } of transaction) {
      const each = statement(sql)
      if (each.reader) each.all(...params)
      else each.run(...params)
    }
  })
  const began = performance.now()
  for (const transaction of transactions) commit.immediate(transaction)
  const seconds = (performance.now() - began) / 1000
  db.close()
  return seconds
}

/** Agent-cycles per second at one number of agents, beside the bare loop's rate on the same rows. */
export async function measure(
  count: number,
  cycles: number,
): Promise<{ agents: number; rate: number; bare: number; ratio: number; transactions: number }> {
  const root = await prepare(count)
  try {
    const database = join(root, '.svc', 'svc.db')
    await copyFile(database, join(root, 'recorded.db'))
    const recording = record()
    const first = await house(root)
    await drive(first, cycles)
    await first.close()
    recording.stop()

    await copyFile(join(root, 'recorded.db'), join(root, 'bare.db'))
    const bare = cycles / replay(join(root, 'bare.db'), recording.transactions)

    await rm(`${database}-wal`, { force: true })
    await rm(`${database}-shm`, { force: true })
    await copyFile(join(root, 'recorded.db'), database)
    const second = await house(root)
    const rate = await drive(second, cycles)
    await second.close()
    return { agents: count, rate, bare, ratio: rate / bare, transactions: recording.transactions.length / cycles }
  } finally {
    await rm(root, { recursive: true, force: true })
  }
}
