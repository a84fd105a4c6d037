import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import agents from '#core/agents/index'
import goals from '#core/goals/index'
import { Profile, Profiles } from '#core/profiles/contract'
import runtime from '#core/runtime/index'
import { definePlugin, type Kernel, type PluginDefinition, z } from '#kernel'
import type { Cycle } from '#platform/heartbeat/contract'
import store from '#platform/store/index'
import { Database, fixedPlan } from '#platform/store/sqlite/database'
import budget from '#safety/budget/index'
import { tool } from '#tools/toolkits/contract'
import { openKernel } from '../../../embed/compose.ts'
import { costOf, idleLag, inTurn, lagDuring, median, turnsDuring } from '../measures.ts'
import { instantModel } from '../models/instant-model.ts'
import { type Row, row } from '../row.ts'

const profile = Profile.parse({ name: 'worker', role: 'takes notes' })

const world = definePlugin({
  name: 'profiles',
  setup(svc) {
    svc.provide(Profiles, {
      read: async () => profile,
      get: async () => profile,
      skills: async () => '',
      names: async () => [],
      list: async () => [],
    })
    // Always due, in turn, so that work is measured and not waiting.
    svc.tap('cleanup', 'at-once', (cycle: Cycle) => {
      cycle.run_at = svc.clock.ms()
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

/** Records everything that the run writes, transaction by transaction, as it goes to the database. */
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

export async function openBenchKernel(root: string, also: readonly PluginDefinition[] = []) {
  return openKernel({
    root,
    roles: ['daemon'],
    builtins: [store, instantModel, budget, world, agents, runtime, goals, ...also],
    ports: { env: {} },
    log: { level: 'error' },
  })
}

/**
 * Runs agents until a number of cycles have ended. @returns how many ended, including those in progress at that time
 */
export async function drive(kernel: Kernel, cycles: number): Promise<number> {
  let ended = 0
  let off = () => {}
  const enough = new Promise<void>(resolve => {
    off = kernel.hooks.on('cycle_end', () => {
      if (++ended === cycles) resolve()
    })
  })
  kernel.heartbeat.start()
  await enough
  await kernel.heartbeat.stop()
  off()
  return ended
}

/** Returns the mean processor time of a cycle, in milliseconds. */
async function costOfCycle(kernel: Kernel, cycles: number): Promise<number> {
  let ended = 0
  const cost = await costOf(async () => {
    ended = await drive(kernel, cycles)
  })
  return cost / ended
}

/**
 * Creates a project in which every second agent has a goal: half of the cycles choose one and half pursue one, for any
 * number of agents.
 */
export async function prepare(count: number): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'svc-bench-'))
  const kernel = await openBenchKernel(root)
  await kernel.close()
  const db = new Sqlite(join(root, '.svc', 'svc.db'))
  const agent = db.prepare(
    "INSERT INTO agents (agent_id, name, role, preset, spawned_at) VALUES (?, 'worker', '', 'worker', ?)",
  )
  const lease = db.prepare('INSERT INTO leases (id, agent_id, run_at) VALUES (?, ?, ?)')
  const goal = db.prepare(
    "INSERT INTO goals (goal_id, agent_id, objective, created_at) VALUES (?, ?, 'Take a note.', 0)",
  )
  db.transaction(() => {
    for (let n = 0; n < count; n++) {
      const id = `worker-${n}`
      agent.run(id, n)
      lease.run(id, id, n)
      if (n % 2) goal.run(`goal-${n}`, id)
    }
  })()
  db.close()
  return root
}

/** Opens a separate database that takes the same writes in the same transactions, with nothing around them. */
function bareLoop(file: string) {
  const db = new Sqlite(file)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = NORMAL')
  db.pragma('cache_size = -16384')
  const prepared = new Map<string, Sqlite.Statement>()
  const statement = (sql: string) => {
    const made = prepared.get(sql) ?? db.prepare(fixedPlan(sql))
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
  return {
    commit(transactions: readonly Transaction[]) {
      for (const transaction of transactions) commit.immediate(transaction)
    },
    close: () => void db.close(),
  }
}

const PIECE = 200
/** Some thousand cycles: V8 needs that many to compile the repeated code. */
const ROUNDS = 25

/**
 * Measures the cost of a cycle beside a loop that commits the same rows, its growth with the number of agents, and the
 * lag of the event loop.
 */
export async function cycles(): Promise<Row[]> {
  // Measured first, when nothing is compiled yet.
  const [flat, late] = [await flatness(), await lag()]
  return [...(await besideBare()), ...flat, ...late]
}

async function besideBare(): Promise<Row[]> {
  const root = await prepare(100)
  const database = join(root, '.svc', 'svc.db')
  await copyFile(database, join(root, 'bare.db'))
  await copyFile(database, join(root, 'first.db'))
  try {
    const all = await recordTransactions(root, PIECE * (ROUNDS + 1))
    for (const rest of ['-wal', '-shm']) await rm(database + rest, { force: true })
    await copyFile(join(root, 'first.db'), database)
    const kernel = await openBenchKernel(root)
    const bare = bareLoop(join(root, 'bare.db'))
    const { transactions } = all
    const each = Math.ceil(transactions.length / (ROUNDS + 1))
    const [written, committed] = [transactions.flat().length / all.cycles, transactions.length / all.cycles]
    const ours = () => costOfCycle(kernel, PIECE)
    const theirs = async () => {
      const piece = transactions.splice(0, each)
      return ((await costOf(() => bare.commit(piece))) / piece.length) * committed
    }
    // The first round warms up.
    await inTurn(1, ours, theirs)
    const { a, b, ratio } = await inTurn(ROUNDS, ours, theirs)
    bare.close()
    await kernel.close()
    const rate = (cost: number) => 1000 / cost
    return [
      row({
        what: 'agent-cycles a second of processor time, 100 agents, beside a bare loop with the same commits',
        figure: rate(a),
        unit: '/s',
        baseline: rate(b),
        ratio: 1 / ratio,
        aim: { of: 'ratio', atLeast: 0.5 },
      }),
      row({ what: 'transactions a cycle', figure: committed, unit: '' }),
      row({ what: 'statements that write, a cycle', figure: written, unit: '' }),
    ]
  } finally {
    await rm(root, { recursive: true, force: true })
  }
}

/** Records the transactions of at least this number of cycles. */
async function recordTransactions(
  root: string,
  atLeast: number,
): Promise<{ transactions: Transaction[]; cycles: number }> {
  const recording = record()
  try {
    const kernel = await openBenchKernel(root)
    recording.transactions.length = 0
    const cycles = await drive(kernel, atLeast)
    const transactions = [...recording.transactions]
    await kernel.close()
    return { transactions, cycles }
  } finally {
    recording.stop()
  }
}

const SIZES = [10, 100, 1_000, 10_000]

async function flatness(): Promise<Row[]> {
  const projects: { count: number; root: string; kernel: Kernel; costs: number[] }[] = []
  try {
    for (const count of SIZES) {
      const root = await prepare(count)
      projects.push({ count, root, kernel: await openBenchKernel(root), costs: [] })
    }
    for (const { kernel } of projects) await drive(kernel, PIECE)
    for (let round = 0; round < ROUNDS; round++) {
      for (const { kernel, costs } of projects) costs.push(await costOfCycle(kernel, PIECE))
    }
    const few = projects[0]!.costs
    return projects.map(({ count, costs }) =>
      row({
        what: `processor time of a cycle, ${count} agents`,
        figure: median(costs),
        unit: 'ms',
        baseline: median(few),
        ratio: median(costs.map((cost, round) => cost / few[round]!)),
        ...(count > 10 ? { aim: { of: 'ratio', atMost: 1.2 } } : {}),
      }),
    )
  } finally {
    for (const { kernel, root } of projects) {
      await kernel.close()
      await rm(root, { recursive: true, force: true })
    }
  }
}

async function lag(): Promise<Row[]> {
  const root = await prepare(100)
  const kernel = await openBenchKernel(root)
  try {
    await drive(kernel, PIECE)
    const idle = await idleLag()
    const wall = await lagDuring(() => drive(kernel, PIECE * 2))
    const turns = await turnsDuring(() => drive(kernel, PIECE * 2))
    const unclear = `a process that does nothing is up to ${idle.max.toFixed(0)} ms late on this machine`
    const turnRow = (what: string, of: 'p99' | 'max', atMost: number) => [
      row({
        what: `turn of the event loop in processor time, ${what}`,
        figure: turns[of],
        unit: 'ms',
        aim: { atMost },
      }),
      row({
        what: `lag of the event loop on the wall, ${what}`,
        figure: wall[of],
        unit: 'ms',
        baseline: idle[of],
        aim: { atMost },
        unclear,
      }),
    ]
    return [...turnRow('p99', 'p99', 50), ...turnRow('longest', 'max', 250)]
  } finally {
    await kernel.close()
    await rm(root, { recursive: true, force: true })
  }
}
