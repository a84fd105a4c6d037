import { countRows, type Store, type Stored } from '#platform/store/contract'
import type { LedgerEntry } from './contract.ts'
import { accountOf } from './market/ledger.ts'

/** A citizen's row with its purse and its job; money in cents, stats in thousandths. */
export interface CitizenRow {
  agent_id: string
  balance: number
  job_id: string | null
  happiness: number
  health: number
  reputation: number
  energy: number
  happiest: number
  saddest: number
  cycles_alive: number
  worked_beat: number
  worked: number
  plays: number
  wins: number
  sheltered: number
  insolvencies: number
}

const ROW = `SELECT c.agent_id, coalesce(w.balance, 0) AS balance, j.job_id, c.happiness, c.health, c.reputation, c.energy, c.happiest,
  c.saddest, c.cycles_alive, c.worked_beat, c.worked, c.plays, c.wins, c.sheltered, c.insolvencies
  FROM world_citizens c JOIN agents_view a ON a.agent_id = c.agent_id
  LEFT JOIN world_accounts w ON w.account = 'agent:' || c.agent_id LEFT JOIN world_jobs j ON j.agent_id = c.agent_id`

/** SQL condition for awake agents: alive, not paused, no sub-agent, and not waiting for an approval. */
const AWAKE = `a.died_at IS NULL AND a.paused_at IS NULL AND a.spawned_by IS NULL AND NOT EXISTS (SELECT 1 FROM approvals_view p
  WHERE p.agent_id = a.agent_id AND p.status = 'pending' AND p.task_id IS NULL)`

export function findCitizen(store: Store, agent_id: string): Promise<CitizenRow | undefined> {
  return store.get<CitizenRow>(`${ROW} WHERE c.agent_id = ?`, [agent_id])
}

/** Returns the awake citizens, ordered by id. */
export function awakeCitizens(store: Store): Promise<CitizenRow[]> {
  return store.all<CitizenRow>(`${ROW} WHERE ${AWAKE} ORDER BY c.agent_id`)
}

/** Returns agents that are not citizens yet, oldest first. */
export function newcomers(store: Store): Promise<{ agent_id: string }[]> {
  return store.all(
    `SELECT a.agent_id FROM agents_view a WHERE ${AWAKE}
     AND NOT EXISTS (SELECT 1 FROM world_citizens c WHERE c.agent_id = a.agent_id) ORDER BY a.spawned_at, a.agent_id`,
  )
}

/** Returns whether an agent may become a citizen: alive and no sub-agent. */
export async function mayEnter(store: Store, agent_id: string): Promise<boolean> {
  const sql = 'SELECT 1 FROM agents_view WHERE agent_id = ? AND died_at IS NULL AND spawned_by IS NULL'
  return (await store.get(sql, [agent_id])) !== undefined
}

export async function beatOf(store: Store): Promise<number> {
  return (await store.get<{ beat: number }>('SELECT beat FROM world_clock WHERE id = 1'))?.beat ?? 0
}

export async function skillsOf(store: Store, agent_id: string): Promise<ReadonlyMap<string, number>> {
  const rows = await store.all<{ skill: string; level: number }>(
    'SELECT skill, level FROM world_skills WHERE agent_id = ? ORDER BY skill',
    [agent_id],
  )
  return new Map(rows.map(({ skill, level }) => [skill, level]))
}

/** Returns the holders of jobs; dead agents hold none. */
export function jobHolders(store: Store): Promise<{ job_id: string; agent_id: string; name: string }[]> {
  return store.all(
    `SELECT j.job_id, j.agent_id, a.name FROM world_jobs j JOIN agents_view a ON a.agent_id = j.agent_id
     WHERE a.died_at IS NULL ORDER BY j.job_id`,
  )
}

export function milestonesOf(store: Store, agent_id: string) {
  return store.all<{ milestone: string; beat: number; text: string }>(
    'SELECT milestone, beat, text FROM world_milestones WHERE agent_id = ? ORDER BY beat, milestone',
    [agent_id],
  )
}

/** Returns the entry with this key, if there is one. */
export function findEntry(store: Store, entry_id: string) {
  return store.get<{ payer: string; payee: string; amount: number; reason: string }>(
    'SELECT payer, payee, amount, reason FROM world_entries WHERE entry_id = ?',
    [entry_id],
  )
}

export interface EntryRow extends Stored<LedgerEntry, 'at'> {
  seq: number
}

/** Returns entries of all accounts or of one, newest first. */
export function listEntries(
  store: Store,
  account: string | undefined,
  limit: number,
  offset: number,
): Promise<EntryRow[]> {
  const of = account === undefined ? '' : 'WHERE payer = ? OR payee = ?'
  return store.all<EntryRow>(
    `SELECT seq, entry_id, beat, payer, payee, amount, reason, at FROM world_entries ${of} ORDER BY seq DESC LIMIT ? OFFSET ?`,
    [...(account === undefined ? [] : [account, account]), limit, offset],
  )
}

export function countEntries(store: Store, account: string | undefined): Promise<number> {
  const of = account === undefined ? '' : 'WHERE payer = ? OR payee = ?'
  return countRows(store, `FROM world_entries ${of}`, account === undefined ? [] : [account, account])
}

/** Returns each account's stored balance, and the balance computed from its transfers. */
export function auditAccounts(store: Store): Promise<{ account: string; balance: number; moved: number }[]> {
  return store.all(
    `SELECT a.account, a.balance, coalesce((SELECT sum(amount) FROM (
       SELECT payee AS account, amount FROM world_entries UNION ALL SELECT payer, -amount FROM world_entries
       UNION ALL SELECT payee, amount FROM world_carried UNION ALL SELECT payer, -amount FROM world_carried
     ) m WHERE m.account = a.account), 0) AS moved
     FROM world_accounts a ORDER BY a.agent_id IS NOT NULL, a.account`,
  )
}

/** Returns income and expenses of an agent's account since its start, by reason. */
export function totalsOf(
  store: Store,
  agent_id: string,
): Promise<{ reason: string; income: number; expense: number }[]> {
  const account = accountOf(agent_id)
  return store.all(
    `SELECT reason, sum(CASE WHEN payee = ? THEN amount ELSE 0 END) AS income,
       sum(CASE WHEN payer = ? THEN amount ELSE 0 END) AS expense
     FROM (SELECT payer, payee, reason, amount FROM world_entries WHERE payer = ? OR payee = ?
       UNION ALL SELECT payer, payee, reason, amount FROM world_carried WHERE payer = ? OR payee = ?) e
     GROUP BY reason ORDER BY reason`,
    [account, account, account, account, account, account],
  )
}

/** Returns accounts of deleted agents. */
export function orphanedAccounts(store: Store): Promise<{ account: string }[]> {
  return store.all(
    `SELECT account FROM world_accounts w WHERE w.agent_id IS NOT NULL
     AND NOT EXISTS (SELECT 1 FROM agents_view a WHERE a.agent_id = w.agent_id) ORDER BY account`,
  )
}

/** Returns the sequence number of the last entry before a heartbeat; 0 when there is none. */
export async function lastEntryBefore(store: Store, beat: number): Promise<number> {
  const row = await store.get<{ seq: number | null }>('SELECT max(seq) AS seq FROM world_entries WHERE beat < ?', [
    beat,
  ])
  return row?.seq ?? 0
}
