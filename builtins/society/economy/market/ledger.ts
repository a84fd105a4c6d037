import { z } from '#kernel'
import { defineEffect, insertInto, type Statement } from '#platform/store/contract'

/** Returns the name of an agent's account. */
export function accountOf(agent_id: string): string {
  return `agent:${agent_id}`
}

/** A transfer; its key makes it idempotent. */
export const Move = z.object({
  entry_id: z.string(),
  beat: z.int(),
  payer: z.string(),
  payee: z.string(),
  amount: z.int().positive().describe('Amount, in cents'),
  reason: z.string(),
})
export type Move = z.infer<typeof Move>

function entry({ entry_id, beat, payer, payee, amount, reason }: Move, now: number): Statement {
  return insertInto(
    'world_entries',
    { entry_id, beat, payer, payee, amount, reason, at: now },
    'ON CONFLICT (entry_id) DO NOTHING',
  )
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

/** Transfers money even if the balance becomes negative; a repetition does nothing. */
export const moveMoney = defineEffect({
  name: 'world.move',
  schema: Move,
  statements: (move, now) => moveStatements(move, now),
})

/** Transfers money if the balance suffices. Refused when it does not, or when the transfer was made already. */
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

/**
 * Writes many transfers of one heartbeat, with one update for each account. Not idempotent: must follow `passBeat` in
 * the same commit.
 */
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

/** Compacts the entries up to a sequence number: adds them to the carried sums and deletes them. */
export const foldEntries = defineEffect({
  name: 'world.fold',
  schema: z.object({ seq: z.int() }),
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

/** Merges a deleted agent's account, with all its entries, into the account `departed`. */
export const closeAccount = defineEffect({
  name: 'world.close',
  schema: z.object({ account: z.string() }),
  statements({ account }) {
    // Entries become carried sums of `departed`. Transfers between departed accounts cancel out.
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
