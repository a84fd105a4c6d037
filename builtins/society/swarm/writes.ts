import { z } from '#kernel'
import { AMONG, defineEffect, insertIf, insertInto, jsonList } from '#platform/store/contract'
import { EFFECT_KINDS, SwarmLearning } from './contract.ts'
import { OPEN } from './repository.ts'

/** Number of records kept of an agent. */
const KEPT_RECORDS = 200
/** Number of reports kept, and the total number including those whose actions last. */
const KEPT_REPORTS = 200
const MOST_REPORTS = 1_000

export const recordGoals = defineEffect({
  name: 'swarm.record',
  schema: z.object({
    goals: z.array(
      z.object({
        seq: z.int(),
        goal_id: z.string(),
        agent_id: z.string(),
        task_type: z.string(),
        success: z.boolean(),
        duration_ms: z.int(),
        steps: z.int(),
        tools: z.array(z.string()),
        at: z.int(),
      }),
    ),
  }),
  statements: ({ goals }) => [
    ...goals.map(goal =>
      insertIf(
        'specialization_records',
        { ...goal, tools: JSON.stringify(goal.tools) },
        { where: 'EXISTS (SELECT 1 FROM agents_view WHERE agent_id = ?)', params: [goal.agent_id] },
        'ON CONFLICT DO NOTHING',
      ),
    ),
    ...[...new Set(goals.map(({ agent_id }) => agent_id))].map(agent_id => ({
      sql: `DELETE FROM specialization_records WHERE agent_id = ? AND seq <= (SELECT seq FROM specialization_records
            WHERE agent_id = ? ORDER BY seq DESC LIMIT 1 OFFSET ${KEPT_RECORDS})`,
      params: [agent_id, agent_id],
    })),
  ],
})

/** Inserts a report. Refused when this heartbeat has one already, so that only one process creates it. */
export const insertReport = defineEffect({
  name: 'swarm.report',
  mustChange: true,
  schema: z.object({ report_id: z.string(), beat: z.int(), policy: z.string(), learned: SwarmLearning }),
  statements: ({ learned, ...row }, now) =>
    insertInto('swarm_reports', { ...row, report: JSON.stringify(learned), created_at: now }, 'ON CONFLICT DO NOTHING'),
})

/** Inserts a report's effects. Does nothing for effects in force, or reverted ones whose reason lasts. */
export const insertEffects = defineEffect({
  name: 'swarm.effects',
  schema: z.object({
    report_id: z.string(),
    effects: z.array(
      z.object({
        effect_id: z.string(),
        kind: z.enum(EFFECT_KINDS),
        topic: z.string(),
        agent_id: z.string(),
        text: z.string(),
      }),
    ),
  }),
  statements: ({ report_id, effects: done }, now) =>
    done.map(({ text, ...effect }) =>
      insertIf(
        'swarm_effects',
        {
          ...effect,
          report_id,
          detail: JSON.stringify({ text }),
          status: effect.kind === 'memory' ? 'planned' : 'in_force',
          created_at: now,
        },
        { where: 'EXISTS (SELECT 1 FROM agents_view WHERE agent_id = ?)', params: [effect.agent_id] },
        'ON CONFLICT DO NOTHING',
      ),
    ),
})

export const moveEffects = defineEffect({
  name: 'swarm.move',
  schema: z.object({ effect_ids: z.array(z.string()), from: z.array(z.string()), to: z.string() }),
  statements: ({ effect_ids, from, to }, now) =>
    effect_ids.map(effect_id => ({
      sql: `UPDATE swarm_effects SET status = ?, ended_at = ? WHERE effect_id = ? AND status ${AMONG}`,
      params: [to, to === 'in_force' || to === 'reverting' ? null : now, effect_id, jsonList(from)],
    })),
})

/** Changes the status of one effect. Refused when its status has changed meanwhile. */
export const moveEffect = defineEffect({
  name: 'swarm.move_one',
  mustChange: true,
  schema: z.object({ effect_id: z.string(), from: z.string(), to: z.string() }),
  statements: ({ effect_id, from, to }, now) => ({
    sql: 'UPDATE swarm_effects SET status = ?, ended_at = ? WHERE effect_id = ? AND status = ?',
    params: [to, to === 'in_force' ? null : now, effect_id, from],
  }),
})

export const markReverted = defineEffect({
  name: 'swarm.revert',
  mustChange: true,
  schema: z.object({ report_id: z.string() }),
  statements: ({ report_id }, now) => ({
    sql: 'UPDATE swarm_reports SET reverted_at = ? WHERE report_id = ? AND reverted_at IS NULL',
    params: [now, report_id],
  }),
})

/** Deletes old reports, except those whose effects last. */
export const trimReports = defineEffect({
  name: 'swarm.trim',
  schema: z.object({}),
  statements: () => ({
    sql: `DELETE FROM swarm_reports WHERE beat <= (SELECT beat FROM swarm_reports ORDER BY beat DESC LIMIT 1 OFFSET ${KEPT_REPORTS})
          AND (NOT EXISTS (SELECT 1 FROM swarm_effects e WHERE e.report_id = swarm_reports.report_id AND e.status IN ${OPEN})
            OR beat <= (SELECT beat FROM swarm_reports ORDER BY beat DESC LIMIT 1 OFFSET ${MOST_REPORTS}))`,
  }),
})

export const SWARM_EFFECTS = [
  recordGoals,
  insertReport,
  insertEffects,
  moveEffects,
  moveEffect,
  markReverted,
  trimReports,
]
