import { agentNameOf } from '#core/agents/statements'
import { z } from '#kernel'
import { countRows, defineEffect, listColumn, type Store } from '#platform/store/contract'

/** Amounts spent in the window, and reserved for running calls. */
export interface BudgetRow {
  budget_window: number
  began_at: number
  spent_micros: number
  spent_tokens: number
  /** Last window for which a reached limit was reported. */
  told_window: number
  /** Amount of the refused call that did not fit the budget; null when calls fit. */
  tight_micros: number | null
  tight_tokens: number | null
  reserved_micros: number
  reserved_tokens: number
}

const RESERVED_MICROS = '(SELECT coalesce(sum(cost_micros), 0) FROM budget_reservations)'
const RESERVED_TOKENS = '(SELECT coalesce(sum(tokens), 0) FROM budget_reservations)'

export async function budgetRow(store: Store): Promise<BudgetRow> {
  const row = await store.get<BudgetRow>(
    `SELECT budget_window, began_at, spent_micros, spent_tokens, told_window, tight_micros, tight_tokens, ${RESERVED_MICROS} AS reserved_micros,
       ${RESERVED_TOKENS} AS reserved_tokens FROM budget`,
  )
  return row!
}

/**
 * Returns the part of the window's spend that rests on estimated tokens or guessed prices, and the tokens without a
 * known price.
 */
export async function unsureSpend(
  store: Store,
  budget_window: number,
): Promise<{ micros: number; tokens: number; unpriced: number }> {
  const row = await store.get<{ micros: number; tokens: number; unpriced: number }>(
    `SELECT coalesce(sum(cost_micros), 0) AS micros,
       coalesce(sum(CASE WHEN priced = 'unknown' AND estimated = 0 THEN 0 ELSE input_tokens + output_tokens END), 0) AS tokens,
       coalesce(sum(CASE WHEN priced = 'unknown' THEN input_tokens + output_tokens ELSE 0 END), 0) AS unpriced
     FROM spend WHERE budget_window = ? AND (priced IN ('default', 'unknown') OR estimated = 1)`,
    [budget_window],
  )
  return row!
}

/** Returns the micro-dollars that an agent and those working for it have spent on pursuits, summaries included. */
export async function pursuitSpend(store: Store, payer: string): Promise<number> {
  const row = await store.get<{ micros: number }>(
    `SELECT (SELECT coalesce(sum(cost_micros), 0) FROM spend WHERE root_agent_id = ? AND kind = 'goal_pursuit')
       + (SELECT coalesce(sum(cost_micros), 0) FROM spend WHERE root_agent_id = ? AND kind = 'summary' AND goal_id IS NOT NULL) AS micros`,
    [payer, payer],
  )
  return row!.micros
}

/** Spending limit of an agent together with the agents below it, over its lifetime. */
export interface TotalLimit {
  agent_id: string
  micros: number
}

/**
 * SQL condition for rows of an agent or of one below it; both parameters are that agent's id. Removed agents are
 * matched by `root_agent_id`.
 */
const OF_AGENT = `(root_agent_id = ? OR agent_id IN (WITH RECURSIVE family(agent_id) AS (SELECT agent_id FROM agents_view WHERE agent_id = ?
    UNION SELECT a.agent_id FROM agents_view a JOIN family ON a.spawned_by = family.agent_id) SELECT agent_id FROM family))`
const TOTAL_SPENT = `(SELECT coalesce(sum(cost_micros), 0) FROM spend WHERE ${OF_AGENT})`
const TOTAL_HELD = `(SELECT coalesce(sum(bound_micros), 0) FROM budget_reservations WHERE ${OF_AGENT})`

/** Returns the micro-dollars spent by an agent and those below it, and reserved for their running calls. */
export async function totalOf(store: Store, agent_id: string): Promise<{ spent: number; held: number }> {
  const row = await store.get<{ spent: number; held: number }>(
    `SELECT ${TOTAL_SPENT} AS spent, ${TOTAL_HELD} AS held`,
    [agent_id, agent_id, agent_id, agent_id],
  )
  return row!
}

/** Returns the amounts booked in the window for calls of unknown cost, such as those of killed processes. */
export async function unconfirmedSpend(
  store: Store,
  budget_window: number,
): Promise<{ micros: number; tokens: number }> {
  const row = await store.get<{ micros: number; tokens: number }>(
    `SELECT coalesce(sum(cost_micros), 0) AS micros, coalesce(sum(input_tokens + output_tokens), 0) AS tokens
     FROM spend WHERE budget_window = ? AND presumed = 1`,
    [budget_window],
  )
  return row!
}

const SPEND_KEYS = { agent: 'agent_id', model: 'model', kind: 'kind' } as const
/** Name of the row that sums up all unlisted ones. */
const OTHERS = 'others'

/**
 * Sums the spend since a time, per interval of `length` milliseconds and per agent, model or kind.
 * @param top maximum number of rows listed by name; -1 lists all
 */
export function spendBy(store: Store, by: keyof typeof SPEND_KEYS, length: number, from: number, top = -1) {
  const name = by === 'agent' ? agentNameOf('sums.key') : 'NULL'
  return store.all<{
    at: number
    key: string | null
    name: string | null
    micros: number
    tokens: number
    calls: number
  }>(
    // Materialized, because SQLite would read all spend ever by its index on agents.
    `WITH recent AS MATERIALIZED (SELECT at - at % ? AS at, ${SPEND_KEYS[by]} AS key, cost_micros,
       input_tokens + output_tokens AS tokens, calls FROM spend WHERE at >= ?),
     most AS (SELECT key FROM recent WHERE key IS NOT NULL GROUP BY key
       ORDER BY sum(cost_micros) DESC, sum(tokens) DESC, key LIMIT ?),
     sums AS (SELECT at, CASE WHEN key IS NULL OR key IN (SELECT key FROM most) THEN key ELSE '${OTHERS}' END AS key,
       sum(cost_micros) AS micros, sum(tokens) AS tokens, sum(calls) AS calls FROM recent GROUP BY 1, 2)
     SELECT at, key, micros, tokens, calls, ${name} AS name FROM sums ORDER BY at, key`,
    [length, from, top],
  )
}

/** Returns whether nothing was ever booked in this database, and its budget was never reset. */
export async function isUnused(store: Store): Promise<boolean> {
  const row = await store.get<{ used: number }>(
    'SELECT budget_window > 1 OR EXISTS (SELECT 1 FROM spend) AS used FROM budget',
  )
  return !row!.used
}

/** Returns the number of calls with a reservation, of all agents and tasks. */
export function countReserved(store: Store): Promise<number> {
  return countRows(store, 'FROM budget_reservations')
}

/** Returns this owner's calls with a reservation, and all calls of the current window booked without confirmation. */
export async function unbookedCalls(store: Store, owner: string): Promise<Set<string>> {
  return new Set(
    await listColumn(
      store,
      `SELECT call_id FROM budget_reservations WHERE owner = ?
     UNION SELECT call_id FROM spend WHERE presumed = 1 AND budget_window = (SELECT budget_window FROM budget)`,
      [owner],
    ),
  )
}

const Limits = z.object({ micros: z.int(), tokens: z.int() })

/**
 * Reserves the maximum cost of a call, in addition to its earlier reservations; refused when that could exceed a limit.
 * Limits of agents are checked against `bound`: the call's own maximum cost, without the configured minimum.
 */
export const holdSpend = defineEffect({
  name: 'budget.hold',
  mustChange: true,
  schema: z.object({
    call_id: z.string(),
    owner: z.string(),
    by_daemon: z.boolean(),
    agent_id: z.string().nullable(),
    root_agent_id: z.string().nullable(),
    goal_id: z.string().nullable(),
    kind: z.string(),
    model: z.string(),
    priced: z.string(),
    amount: Limits,
    limits: Limits,
    bound: z.int(),
    agents: z.array(z.object({ agent_id: z.string(), micros: z.int() })),
    expires_at: z.int(),
  }),
  statements: (call, now) => {
    const { amount, limits, bound, agents } = call
    // Adds conditions only for limits that are set, because SQLite would plan optional ones again each time.
    const within = (['micros', 'tokens'] as const).filter(unit => limits[unit] > 0)
    const reserved = { micros: RESERVED_MICROS, tokens: RESERVED_TOKENS }
    const conditions = [
      ...within.map(unit => `spent_${unit} < ? AND spent_${unit} + ${reserved[unit]} + ? <= ?`),
      ...agents.map(() => `${TOTAL_SPENT} + ${TOTAL_HELD} + ? <= ?`),
    ]
    return [
      {
        sql: `INSERT INTO budget_reservations (call_id, owner, by_daemon, agent_id, root_agent_id, goal_id, kind, model, priced,
                cost_micros, tokens, bound_micros, held_at, expires_at)
              SELECT ?, ?, ?, ?, coalesce(?, (SELECT root_agent_id FROM agents_view WHERE agent_id = ?), ?), ?, ?, ?, ?, ?, ?, ?, ?, ?
              FROM budget WHERE ${conditions.join(' AND ') || 'true'}
              ON CONFLICT (call_id) DO UPDATE SET cost_micros = budget_reservations.cost_micros + excluded.cost_micros,
                tokens = budget_reservations.tokens + excluded.tokens,
                bound_micros = budget_reservations.bound_micros + excluded.bound_micros`,
        params: [
          call.call_id,
          call.owner,
          call.by_daemon,
          call.agent_id,
          call.root_agent_id,
          call.agent_id,
          call.agent_id,
          call.goal_id,
          call.kind,
          call.model,
          call.priced,
          amount.micros,
          amount.tokens,
          bound,
          now,
          call.expires_at,
          ...within.flatMap(unit => [limits[unit], amount[unit], limits[unit]]),
          ...agents.flatMap(({ agent_id, micros }) => [agent_id, agent_id, agent_id, agent_id, bound, micros]),
        ],
      },
    ]
  },
})

export const releaseSpend = defineEffect({
  name: 'budget.release',
  schema: z.object({ call_id: z.string() }),
  statements: ({ call_id }) => ({ sql: 'DELETE FROM budget_reservations WHERE call_id = ?', params: [call_id] }),
})

/** Releases the reservation of one attempt of a call; with the last attempt, deletes the row. */
export const releaseAttempt = defineEffect({
  name: 'budget.release_attempt',
  schema: z.object({ call_id: z.string(), amount: Limits, bound: z.int() }),
  statements: ({ call_id, amount, bound }) => [
    {
      sql: `UPDATE budget_reservations SET cost_micros = cost_micros - ?, tokens = tokens - ?, bound_micros = bound_micros - ?
            WHERE call_id = ?`,
      params: [amount.micros, amount.tokens, bound, call_id],
    },
    { sql: 'DELETE FROM budget_reservations WHERE call_id = ? AND bound_micros <= 0', params: [call_id] },
  ],
})

/** Tolerated clock difference between two machines, in milliseconds. */
const SKEW_MS = 2_000
/**
 * Condition for calls of cycles whose agent was taken over, or whose lease expired. If their cost arrives later, it is
 * booked.
 */
const LOST = `(by_daemon = 1 AND (kind IN ('goal_pursuit', 'goal_generation') OR kind = 'summary' AND goal_id IS NOT NULL) AND EXISTS (SELECT 1 FROM leases_view l
  WHERE l.id = budget_reservations.agent_id AND (l.claimed_at > budget_reservations.held_at + ${SKEW_MS}
    OR l.owner IS NOT NULL AND l.run_at <= ?)))`
/**
 * Condition for abandoned reservations, for which no process waits any more. One from the future was made before the
 * clock was set back.
 */
const ABANDONED = `(expires_at <= ? OR held_at > ? OR (? = 1 AND by_daemon = 1 AND owner <> ?) OR ${LOST})`
const abandonedBy = (now: number, daemon: string | null) => [now, now, daemon !== null, daemon, now]

/**
 * Counts abandoned reservations: expired ones, those of a cycle that another node has taken over, and those of earlier
 * daemons.
 */
export function countAbandoned(store: Store, now: number, daemon: string | null): Promise<number> {
  return countRows(store, `FROM budget_reservations WHERE ${ABANDONED}`, abandonedBy(now, daemon))
}

/** Condition for reservations that `presumeSpent` has marked; those of running calls never have this time. */
const ENDED = 'expires_at = 0'

/**
 * SQL: what an abandoned call cost at most: its own bound rather than the configured minimum of a reservation, which may
 * be many times that. Where the price is unknown, there is no bound.
 */
const AT_MOST = "CASE WHEN priced <> 'unknown' AND bound_micros < cost_micros THEN bound_micros ELSE cost_micros END"

/**
 * Books abandoned reservations as spent, because the provider may have charged. The actual cost replaces this if it
 * arrives.
 */
export const presumeSpent = defineEffect({
  name: 'budget.presume',
  schema: z.object({ daemon: z.string().nullable() }),
  statements: ({ daemon }, now) => {
    const unbooked = `${ENDED} AND NOT EXISTS (SELECT 1 FROM spend WHERE spend.call_id = budget_reservations.call_id)`
    return [
      // The rows are selected once: on PostgreSQL, leases can be claimed meanwhile, and each statement would see a
      // different set.
      { sql: `UPDATE budget_reservations SET expires_at = 0 WHERE ${ABANDONED}`, params: abandonedBy(now, daemon) },
      {
        sql: `UPDATE budget SET
              spent_micros = spent_micros + (SELECT coalesce(sum(${AT_MOST}), 0) FROM budget_reservations WHERE ${unbooked}),
              spent_tokens = spent_tokens + (SELECT coalesce(sum(tokens), 0) FROM budget_reservations WHERE ${unbooked})`,
      },
      {
        sql: `INSERT INTO spend (call_id, agent_id, root_agent_id, goal_id, kind, model, cost_micros, input_tokens,
                output_tokens, priced, estimated, presumed, attempts, duration_ms, at, budget_window)
              SELECT call_id, agent_id, root_agent_id, goal_id, kind, model, ${AT_MOST}, tokens, 0, priced, 1, 1, 1, 0, held_at,
                (SELECT budget_window FROM budget) FROM budget_reservations WHERE ${unbooked}`,
      },
      { sql: `DELETE FROM budget_reservations WHERE ${ENDED}` },
    ]
  },
})

/** Opens a new window with nothing spent. Reservations stay. */
export const openWindow = defineEffect({
  name: 'budget.open',
  schema: z.object({}),
  statements: (_, now) => ({
    sql: `UPDATE budget SET budget_window = budget_window + 1, began_at = ?, spent_micros = 0, spent_tokens = 0,
              tight_micros = NULL, tight_tokens = NULL`,
    params: [now],
  }),
})

/** Marks this window as reported; refused when it was marked before. */
export const markReported = defineEffect({
  name: 'budget.mark_reported',
  mustChange: true,
  schema: z.object({ budget_window: z.int() }),
  statements: ({ budget_window }) => ({
    sql: 'UPDATE budget SET told_window = budget_window WHERE budget_window = ? AND told_window <> budget_window',
    params: [budget_window],
  }),
})

/** Records the amount of a refused call; changes nothing, and is refused, when one is already recorded. */
export const noteTight = defineEffect({
  name: 'budget.tight',
  mustChange: true,
  schema: Limits,
  statements: ({ micros, tokens }) => ({
    sql: 'UPDATE budget SET tight_micros = ?, tight_tokens = ? WHERE tight_micros IS NULL',
    params: [micros, tokens],
  }),
})

/** Clears the recorded amount, because a call of this amount fits the budget again. */
export const noteEased = defineEffect({
  name: 'budget.eased',
  schema: Limits,
  statements: ({ micros, tokens }) => ({
    sql: 'UPDATE budget SET tight_micros = NULL, tight_tokens = NULL WHERE tight_micros = ? AND tight_tokens = ?',
    params: [micros, tokens],
  }),
})

/**
 * Records that the exhaustion of an agent's limit was reported; refused when that was recorded for a limit of the same
 * amount.
 */
export const noteExhausted = defineEffect({
  name: 'budget.agent_exhausted',
  mustChange: true,
  schema: z.object({ agent_id: z.string(), key: z.string(), limit_micros: z.int() }),
  statements: ({ agent_id, key, limit_micros }) => ({
    sql: `INSERT INTO exhausted_limits (agent_id, key, limit_micros) SELECT agent_id, ?, ? FROM agents_view WHERE agent_id = ?
          ON CONFLICT (agent_id, key) DO UPDATE SET limit_micros = excluded.limit_micros
          WHERE exhausted_limits.limit_micros <> excluded.limit_micros`,
    params: [key, limit_micros, agent_id],
  }),
})

export const BUDGET_EFFECTS = [
  holdSpend,
  releaseSpend,
  releaseAttempt,
  presumeSpent,
  openWindow,
  markReported,
  noteTight,
  noteEased,
  noteExhausted,
]
