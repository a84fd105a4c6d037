import { z } from '#kernel'
import { defineEffect, type Statement } from '#platform/store/contract'

/** The account of an agent. */
export function accountOf(agent_id: string): string {
  return `agent:${agent_id}`
}

/** A movement of money, keyed so that it is made once. */
export const Move = z.object({
  entry_id: z.string(),
  beat: z.number().int(),
  payer: z.string(),
  payee: z.string(),
  amount: z.number().int().positive().describe('Cents'),
  reason: z.string(),
})
export type Move = z.infer<typeof Move>

function entry({ entry_id, beat, payer, payee, amount, reason }: Move, now: number): Statement {
  return {
    sql: `INSERT INTO world_entries (entry_id, beat, payer, payee, amount, reason, at) VALUES (?, ?, ?, ?, ?, ?, ?)
          ON CONFLICT (entry_id) DO NOTHING`,
    params: [entry_id, beat, payer, payee, amount, reason, now],
  }
}

const UNLESS_MADE = 'AND NOT EXISTS (SELECT 1 FROM world_entries WHERE entry_id = ?)'

function moveStatements(move: Move, now: number): Statement[] {
  const { entry_id, payer, payee, amount } = move
  const add = `UPDATE world_accounts SET balance = balance + ? WHERE account = ? ${UNLESS_MADE}`
  return [
    { sql: add, params: [-amount, payer, entry_id] },
    { sql: add, params: [amount, payee, entry_id] },
    entry(move, now),
  ]
}

/** Money that moves in any case, also into debt; a repetition moves nothing. */
export const moveMoney = defineEffect({
  name: 'world.move',
  schema: Move,
  statements: (move, now) => moveStatements(move, now),
})

/** Money that is paid out of what is there: refused when that is too little, or when it was paid already. */
export const payMoney = defineEffect({
  name: 'world.pay',
  mustChange: true,
  schema: Move,
  statements: (move, now) => [
    {
      sql: `UPDATE world_accounts SET balance = balance - ? WHERE account = ? AND balance >= ? ${UNLESS_MADE}`,
      params: [move.amount, move.payer, move.amount, move.entry_id],
    },
    { sql: 'UPDATE world_accounts SET balance = balance + ? WHERE account = ?', params: [move.amount, move.payee] },
    entry(move, now),
  ],
})

/** Many movements of one beat at once: each account changes once by the sum of them. Belongs behind what lets a beat pass once. */
export const bookBeat = defineEffect({
  name: 'world.book',
  schema: z.object({ moves: z.array(Move) }),
  statements({ moves }, now) {
    const sums = new Map<string, number>()
    for (const { payer, payee, amount } of moves) {
      sums.set(payer, (sums.get(payer) ?? 0) - amount)
      sums.set(payee, (sums.get(payee) ?? 0) + amount)
    }
    return [
      ...moves.map(move => entry(move, now)),
      ...[...sums].map(([account, sum]) => ({
        sql: 'UPDATE world_accounts SET balance = balance + ? WHERE account = ?',
        params: [sum, account],
      })),
    ]
  },
})

/** Adds up the entries up to one of them, and removes them: what they came to is carried over. */
export const foldEntries = defineEffect({
  name: 'world.fold',
  schema: z.object({ seq: z.number().int() }),
  statements: ({ seq }) => [
    {
      sql: `INSERT INTO world_carried (payer, payee, reason, amount, entries)
            SELECT payer, payee, reason, sum(amount), count(*) FROM world_entries WHERE seq <= ? GROUP BY payer, payee, reason
            ON CONFLICT (payer, payee, reason) DO UPDATE SET amount = world_carried.amount + excluded.amount,
              entries = world_carried.entries + excluded.entries`,
      params: [seq],
    },
    { sql: 'DELETE FROM world_entries WHERE seq <= ?', params: [seq] },
  ],
})

/** An agent that is gone leaves its account to `departed`, with all that was moved on it. */
export const closeAccount = defineEffect({
  name: 'world.close',
  schema: z.object({ account: z.string() }),
  statements({ account }) {
    // Its own movements are added up among those of all that are gone; what it moved with itself was nothing.
    const departedOr = (column: string) => `CASE WHEN ${column} = ? THEN 'departed' ELSE ${column} END`
    const fold = (table: string, entries: string): Statement[] => [
      {
        sql: `INSERT INTO world_carried (payer, payee, reason, amount, entries)
              SELECT ${departedOr('payer')}, ${departedOr('payee')}, reason, sum(amount), ${entries} FROM ${table}
              WHERE payer = ? OR payee = ? GROUP BY 1, 2, reason
              ON CONFLICT (payer, payee, reason) DO UPDATE SET amount = world_carried.amount + excluded.amount,
                entries = world_carried.entries + excluded.entries`,
        params: [account, account, account, account],
      },
      { sql: `DELETE FROM ${table} WHERE payer = ? OR payee = ?`, params: [account, account] },
    ]
    return [
      {
        sql: `UPDATE world_accounts SET balance = balance + coalesce((SELECT balance FROM world_accounts WHERE account = ?), 0)
              WHERE account = 'departed'`,
        params: [account],
      },
      { sql: 'DELETE FROM world_accounts WHERE account = ?', params: [account] },
      ...fold('world_entries', 'count(*)'),
      ...fold('world_carried', 'sum(entries)'),
    ]
  },
})

export const LEDGER_EFFECTS = [moveMoney, payMoney, bookBeat, foldEntries, closeAccount]
