import { type Effect, z } from '#kernel'
import { appendEvent, defineEffect, insertIf, insertInto, wakeAgents } from '#platform/store/contract'
import type { Stat, WorldChanged } from './contract.ts'
import { accountOf, moveMoney } from './market/ledger.ts'

const delta = z.int().default(0)
const Deltas = z.object({ happiness: delta, health: delta, reputation: delta, energy: delta })
export type Deltas = Partial<Record<Stat, number>>

const CHANGE = (['happiness', 'health', 'reputation', 'energy'] as const)
  .map(stat => `${stat} = max(0, min(1000, ${stat} + ?))`)
  .join(', ')
const EXTREMES = 'happiest = max(happiest, min(1000, happiness + ?)), saddest = min(saddest, max(0, happiness + ?))'
/** SQL assignments of the new stats and their extremes. */
const CHANGED = `${EXTREMES}, ${CHANGE}`

function statDeltas({ happiness, health, reputation, energy }: z.output<typeof Deltas>): number[] {
  return [happiness, happiness, happiness, health, reputation, energy]
}

/** Makes an agent a citizen, with an empty account. A repetition changes nothing. */
const insertCitizen = defineEffect({
  name: 'world.citizen',
  schema: z.object({ agent_id: z.string() }),
  statements: ({ agent_id }, now) => [
    insertInto('world_citizens', { agent_id, entered_at: now }, 'ON CONFLICT (agent_id) DO NOTHING'),
    insertInto('world_accounts', { account: accountOf(agent_id), agent_id }, 'ON CONFLICT (account) DO NOTHING'),
  ],
})

/**
 * Returns the writes that add an agent to the economy with its starting balance, once.
 * @param cents starting balance
 */
export function enterStatements(agent_id: string, beat: number, cents: number) {
  const entry_id = `start:${agent_id}`
  const move = { entry_id, beat, payer: 'bank', payee: accountOf(agent_id), amount: cents, reason: 'starting balance' }
  return [insertCitizen({ agent_id }), ...(cents > 0 ? [moveMoney(move)] : [])]
}

/** Advances the economy's clock to a heartbeat. Refused when it was processed already. */
export const passBeat = defineEffect({
  name: 'world.tick',
  mustChange: true,
  schema: z.object({ beat: z.int() }),
  statements: ({ beat }) => ({
    sql: 'UPDATE world_clock SET beat = ? WHERE id = 1 AND beat < ?',
    params: [beat, beat],
  }),
})

/** Writes the changes of one heartbeat to a citizen. */
export const liveBeat = defineEffect({
  name: 'world.live',
  schema: Deltas.extend({ agent_id: z.string(), sheltered: z.boolean(), insolvent: z.boolean() }),
  statements: ({ agent_id, sheltered, insolvent, ...deltas }) => ({
    sql: `UPDATE world_citizens SET ${CHANGED}, cycles_alive = cycles_alive + 1, sheltered = ?,
              insolvencies = insolvencies + ? WHERE agent_id = ?`,
    params: [...statDeltas(deltas), sheltered, insolvent, agent_id],
  }),
})

/** Changes stats, in thousandths; each stays from 0 to 1000. */
export const changeStats = defineEffect({
  name: 'world.stats',
  schema: Deltas.extend({ agent_id: z.string() }),
  statements: ({ agent_id, ...deltas }) => ({
    sql: `UPDATE world_citizens SET ${CHANGED} WHERE agent_id = ?`,
    params: [...statDeltas(deltas), agent_id],
  }),
})

/** Records one `work` call. Refused when energy is too low or the maximum per heartbeat is reached. */
export const workOnce = defineEffect({
  name: 'world.work',
  mustChange: true,
  schema: z.object({
    agent_id: z.string(),
    beat: z.int(),
    limit: z.int(),
    energy: z.int(),
    reputation: z.int(),
  }),
  statements: ({ agent_id, beat, limit, energy, reputation }) => ({
    sql: `UPDATE world_citizens SET energy = energy - ?, reputation = min(1000, reputation + ?),
            worked = CASE WHEN worked_beat = ? THEN worked + 1 ELSE 1 END, worked_beat = ?
          WHERE agent_id = ? AND energy >= ? AND CASE WHEN worked_beat = ? THEN worked ELSE 0 END < ?`,
    params: [energy, reputation, beat, beat, agent_id, energy, beat, limit],
  }),
})

/** Counts a bet. Refused when another bet was placed in between, because the number of a bet determines its luck. */
export const playOnce = defineEffect({
  name: 'world.play',
  mustChange: true,
  schema: z.object({ agent_id: z.string(), plays: z.int(), won: z.boolean() }),
  statements: ({ agent_id, plays, won }) => ({
    sql: 'UPDATE world_citizens SET plays = plays + 1, wins = wins + ? WHERE agent_id = ? AND plays = ?',
    params: [won, agent_id, plays],
  }),
})

/** Gives an agent a job. Refused when a live agent has the job, or the agent has another. */
export const hire = defineEffect({
  name: 'world.hire',
  mustChange: true,
  schema: z.object({ agent_id: z.string(), job_id: z.string(), beat: z.int() }),
  statements: ({ agent_id, job_id, beat }) =>
    insertIf(
      'world_jobs',
      { job_id, agent_id, since_beat: beat },
      { where: 'NOT EXISTS (SELECT 1 FROM world_jobs WHERE agent_id = ?)', params: [agent_id] },
      `ON CONFLICT (job_id) DO UPDATE SET agent_id = excluded.agent_id, since_beat = excluded.since_beat
        WHERE EXISTS (SELECT 1 FROM agents_view a WHERE a.agent_id = world_jobs.agent_id AND a.died_at IS NOT NULL)`,
    ),
})

/** Replaces the agent's job, if no other agent has taken the new one meanwhile. */
export const changeJob = defineEffect({
  name: 'world.promote',
  schema: z.object({ agent_id: z.string(), job_id: z.string(), beat: z.int() }),
  statements: ({ agent_id, job_id, beat }) => [
    {
      sql: `UPDATE world_jobs SET job_id = ?, since_beat = ? WHERE agent_id = ?
            AND NOT EXISTS (SELECT 1 FROM world_jobs taken WHERE taken.job_id = ?)`,
      params: [job_id, beat, agent_id, job_id],
    },
    insertIf(
      'world_jobs',
      { job_id, agent_id, since_beat: beat },
      { where: 'NOT EXISTS (SELECT 1 FROM world_jobs WHERE agent_id = ? OR job_id = ?)', params: [agent_id, job_id] },
    ),
  ],
})

/** Removes the agent's job, if it has one. */
export const leaveJob = defineEffect({
  name: 'world.leave',
  schema: z.object({ agent_id: z.string() }),
  statements: ({ agent_id }) => ({ sql: 'DELETE FROM world_jobs WHERE agent_id = ?', params: [agent_id] }),
})

/** Raises a skill, in thousandths, up to 1000. */
export const learnSkill = defineEffect({
  name: 'world.learn',
  schema: z.object({ agent_id: z.string(), skill: z.string(), by: z.int() }),
  statements: ({ agent_id, skill, by }) => ({
    sql: `INSERT INTO world_skills (agent_id, skill, level) VALUES (?, ?, min(1000, ?))
          ON CONFLICT (agent_id, skill) DO UPDATE SET level = min(1000, world_skills.level + ?)`,
    params: [agent_id, skill, by, by],
  }),
})

/** Records a milestone of an agent's life, only the first time. */
export const reachMilestone = defineEffect({
  name: 'world.milestone',
  schema: z.object({ agent_id: z.string(), milestone: z.string(), beat: z.int(), text: z.string() }),
  statements: row => insertInto('world_milestones', row, 'ON CONFLICT (agent_id, milestone) DO NOTHING'),
})

const thousandths = z.int().min(0).max(1000)
/** What a checkpoint keeps of a citizen, apart from its balance and its job. */
export const CitizenState = z.object({
  skills: z.record(z.string(), thousandths),
  happiness: thousandths,
  health: thousandths,
  reputation: thousandths,
  energy: thousandths,
  cycles_alive: z.int().min(0),
  sheltered: z.boolean(),
  insolvencies: z.int().min(0),
})

/** Restores a citizen, except its balance, its job and the number of its bets, which determines their luck. */
export const restoreCitizen = defineEffect({
  name: 'world.restore',
  schema: CitizenState.extend({ agent_id: z.string() }),
  statements: ({ agent_id, skills, ...stats }) => [
    {
      sql: `UPDATE world_citizens SET ${Object.keys(stats).map(stat => `${stat} = ?`)} WHERE agent_id = ?`,
      params: [...Object.values(stats), agent_id],
    },
    { sql: 'DELETE FROM world_skills WHERE agent_id = ?', params: [agent_id] },
    ...Object.entries(skills).map(([skill, level]) => insertInto('world_skills', { agent_id, skill, level })),
  ],
})

/** Reports a change in an agent's place in the economy. */
export function worldChanged(data: z.infer<typeof WorldChanged>) {
  return appendEvent({ type: 'world_changed', agent_id: data.agent_id, data })
}

/** Reports a change that happened to an agent without its doing, and wakes the agent. */
export function worldStruck(data: z.infer<typeof WorldChanged>): Effect[] {
  return [worldChanged(data), wakeAgents({ agents: [data.agent_id], reason: 'a life event' })]
}

export const CITIZEN_EFFECTS = [
  insertCitizen,
  passBeat,
  liveBeat,
  changeStats,
  workOnce,
  playOnce,
  hire,
  changeJob,
  leaveJob,
  learnSkill,
  reachMilestone,
  restoreCitizen,
]
