import type { CheckpointPart } from '#core/checkpoints/contract'
import { Message } from '#core/models/contract'
import { callsSince, closeCalls } from '#core/runtime/statements'
import { type PluginHandle, z } from '#kernel'
import { appendEvent, defineEffect, insertInto, type Statement, Store } from '#platform/store/contract'
import { denyRequests } from '#safety/approvals/statements'
import { withdrawQuestions } from '#safety/questions/statements'
import { goalEnding } from '../pursuit/outcome.ts'
import { activeBelow, activeGoals, findGoal } from '../repository.ts'

/**
 * Maximum length of a saved conversation, in characters of JSON. A longer one is not saved, and its goal starts again.
 */
const LONGEST_TRANSCRIPT = 4_000_000

const Row = z.object({ seq: z.int(), message: Message, at: z.int() })
const KeptGoal = z.object({
  objective: z.string(),
  priority: z.int(),
  origin: z.string(),
  parent_goal_id: z.string().nullable(),
  reasoning: z.string().nullable(),
  steps_completed: z.int(),
  created_at: z.int(),
  transcript: z.array(Row),
})
export type KeptGoal = z.infer<typeof KeptGoal>
const Kept = z.record(z.string(), KeptGoal)
type Kept = z.infer<typeof Kept>

/** Returns the part of a goal's conversation that is still kept. */
export async function transcriptOf(store: Store, goal_id: string): Promise<KeptGoal['transcript']> {
  const rows = await store.all<{ seq: number; message: string; at: number }>(
    'SELECT seq, message, created_at AS at FROM goal_transcripts WHERE goal_id = ? ORDER BY seq',
    [goal_id],
  )
  if (rows.reduce((sum, { message }) => sum + message.length, 0) > LONGEST_TRANSCRIPT) return []
  return rows.map(row => ({ ...row, message: Message.parse(JSON.parse(row.message)) }))
}

/** Returns the statements that replace a goal's conversation. */
export function writeTranscript(goal_id: string, agent_id: string, rows: KeptGoal['transcript']): Statement[] {
  return [
    { sql: 'DELETE FROM goal_transcripts WHERE goal_id = ?', params: [goal_id] },
    { sql: 'DELETE FROM ended_transcripts WHERE goal_id = ?', params: [goal_id] },
    ...rows.map(({ seq, message, at }) =>
      insertInto('goal_transcripts', { goal_id, seq, agent_id, message: JSON.stringify(message), created_at: at }),
    ),
  ]
}

/**
 * Restores a goal. Calls begun since then are closed, and approvals and questions that only they wait for are removed;
 * calls that were open are opened again.
 */
export const restoreGoal = defineEffect({
  name: 'goals.restore',
  schema: z.object({ agent_id: z.string(), goal_id: z.string(), goal: KeptGoal }),
  statements: ({ agent_id, goal_id, goal }, now) => {
    const { objective, priority, origin, parent_goal_id, reasoning, steps_completed, created_at, transcript } = goal
    const since = callsSince(goal_id, openCalls(transcript))
    const calls = { sql: `SELECT call_id FROM tool_calls_view WHERE ${since.where}`, params: since.params }
    return [
      insertInto(
        'goals',
        { goal_id, agent_id, objective, priority, origin, parent_goal_id, reasoning, steps_completed, created_at },
        `ON CONFLICT (goal_id) DO UPDATE SET status = 'active', objective = excluded.objective,
            priority = excluded.priority, origin = excluded.origin, parent_goal_id = excluded.parent_goal_id,
            reasoning = excluded.reasoning, steps_completed = excluded.steps_completed, created_at = excluded.created_at,
            result = NULL, unconfirmed = 0, completed_at = NULL, told_at = NULL, transcript_epoch = NULL
          WHERE goals.agent_id = excluded.agent_id`,
      ),
      ...writeTranscript(goal_id, agent_id, transcript),
      denyRequests(calls, { reason: SET_BACK, resolved_by: 'checkpoint' }, now),
      withdrawQuestions(calls),
      closeCalls(since, SET_BACK, now),
    ]
  },
})
const SET_BACK = 'The agent was restored to an earlier checkpoint.'

function openCalls(transcript: KeptGoal['transcript']): string[] {
  const last = transcript.findLast(({ message }) => message.role === 'assistant')
  const answered = new Set(transcript.map(({ message }) => message.tool_call_id))
  return (last?.message.tool_calls ?? []).map(({ id }) => id).filter(id => !answered.has(id))
}

/** Saves active goals with their conversations. Goals that became active since are abandoned on restore. */
export function goalsCheckpoint(svc: PluginHandle): CheckpointPart {
  const store = () => svc.use(Store)
  const part: CheckpointPart<Kept> = {
    name: 'goals',
    // Before the parts that would treat an abandoned goal as something that happened to the agent.
    stage: -10,
    schema: Kept,
    async capture(agent_id) {
      const kept: [string, KeptGoal][] = []
      for (const { goal_id } of await activeGoals(store(), agent_id)) {
        const goal = await findGoal(store(), goal_id)
        if (goal?.status !== 'active') continue
        const { objective, priority, origin, parent_goal_id, reasoning, steps_completed, created_at } = goal
        const transcript = await transcriptOf(store(), goal_id)
        const rest = { parent_goal_id, reasoning, steps_completed, created_at, transcript }
        kept.push([goal_id, { objective, priority, origin, ...rest }])
      }
      return kept.length > 0 ? Object.fromEntries(kept) : undefined
    },
    async restore(agent_id, kept = {}) {
      const gone = new Map<string, { goal_id: string; agent_id: string }>()
      for (const goal of await activeGoals(store(), agent_id)) {
        if (Object.hasOwn(kept, goal.goal_id)) continue
        for (const each of [goal, ...(await activeBelow(store(), goal.goal_id))]) gone.set(each.goal_id, each)
      }
      return [
        ...[...gone.values()]
          .filter(({ goal_id }) => !Object.hasOwn(kept, goal_id))
          .flatMap(goal => goalEnding(goal, 'abandoned', SET_BACK)),
        ...Object.entries(kept).flatMap(([goal_id, goal]) => [
          restoreGoal({ agent_id, goal_id, goal }),
          appendEvent({ type: 'goal_changed', agent_id, data: { agent_id, goal_id, changes: ['restored'] } }),
        ]),
      ]
    },
  }
  return part as CheckpointPart
}
