import { CYCLE_RESULTS } from '#platform/heartbeat/contract'
import type { Invariant } from '#platform/store/contract'

interface Message {
  role: string
  tool_calls?: { id: string }[]
  tool_call_id?: string
}

/** Returns a check that is broken when the query finds rows. */
function expectNoRows(sql: string): Invariant['broken'] {
  return look => {
    const found = look.all<object>(`${sql} LIMIT 3`)
    return found.length === 0 ? undefined : found.map(row => JSON.stringify(row)).join(' ')
  }
}

/** Tables whose rows are deleted with their agent; its costs, its events and what it left behind remain. */
const CHILDREN = [
  'goals',
  'nudges',
  'schedules',
  'tasks',
  'alarms',
  'sessions',
  'task_runs',
  'goal_transcripts',
  'tool_calls',
  'approvals',
  'idle_agents',
  'leases',
]

/** Invariant that holds only where pursuits continue at each cycle, rather than begin anew. */
export const RESUMES = 'transcript_while_it_goes_on'

/** Returns the invariants of this program's own modules, for one simulated run. */
export const ownInvariants = (): readonly Invariant[] => [
  {
    name: 'one_generated_goal',
    promise: 'An agent has at most one active goal of its own making.',
    tables: ['goals'],
    broken: expectNoRows(
      "SELECT agent_id, count(*) AS goals FROM goals WHERE status = 'active' AND origin = 'generated' GROUP BY agent_id HAVING count(*) > 1",
    ),
  },
  {
    name: 'no_transcript_after_the_end',
    promise: 'A goal that has not begun has no transcript, and a transcript ends exactly when its goal does.',
    tables: ['goals', 'goal_transcripts'],
    broken: expectNoRows(
      `SELECT goal_id, status, steps_completed FROM goals g JOIN (SELECT goal_id, max(ended_at) AS ended_at
         FROM goal_transcripts GROUP BY goal_id) t USING (goal_id)
       WHERE (status = 'active') <> (t.ended_at IS NULL) OR (status = 'active' AND steps_completed = 0)`,
    ),
  },
  {
    name: RESUMES,
    promise: 'A goal that is active and has begun has its transcript.',
    tables: ['goals', 'goal_transcripts'],
    broken: expectNoRows(
      `SELECT goal_id, steps_completed FROM goals g WHERE status = 'active' AND steps_completed > 0
       AND NOT EXISTS (SELECT 1 FROM goal_transcripts t WHERE t.goal_id = g.goal_id)`,
    ),
  },
  {
    name: 'whole_groups',
    promise: 'A transcript never separates a tool call from its answers.',
    tables: ['goal_transcripts'],
    broken(look) {
      const rows = look.all<{ goal_id: string; message: string }>(
        'SELECT goal_id, message FROM goal_transcripts ORDER BY goal_id, seq',
      )
      const goals = new Map<string, Message[]>()
      for (const { goal_id, message } of rows) {
        const messages = goals.get(goal_id) ?? []
        goals.set(goal_id, messages)
        messages.push(JSON.parse(message) as Message)
      }
      for (const [goal_id, messages] of goals) {
        const fault = splitIn(messages)
        if (fault) return `${goal_id}: ${fault}`
      }
      return undefined
    },
  },
  {
    name: 'known_statuses',
    promise: 'Whatever has a status has one of those there are.',
    tables: ['goals', 'approvals', 'tool_calls', 'task_runs', 'run_agents'],
    broken: expectNoRows(
      `SELECT 'goal' AS what, status FROM goals WHERE status NOT IN ('active', 'completed', 'abandoned')
       UNION ALL SELECT 'approval', status FROM approvals WHERE status NOT IN ('pending', 'approved', 'denied', 'consumed')
       UNION ALL SELECT 'tool call', state FROM tool_calls WHERE state NOT IN ('planned', 'parked', 'started', 'done')
       UNION ALL SELECT 'task', status FROM task_runs WHERE status NOT IN ('running', 'waiting_approval', 'completed', 'failed', 'max_steps', 'cancelled')`,
    ),
  },
  {
    name: 'children_go_with_their_agent',
    promise: 'When an agent is deleted, all that was its own is gone.',
    tables: ['agents'],
    broken: look => {
      for (const table of CHILDREN) {
        const found = expectNoRows(
          `SELECT agent_id FROM ${table} WHERE agent_id IS NOT NULL AND agent_id NOT IN (SELECT agent_id FROM agents)`,
        )(look)
        if (found) return `${table}: ${found}`
      }
      return undefined
    },
  },
  {
    name: 'approval_used_once',
    promise: 'An approval is used by one call, and only once it was given.',
    tables: ['approvals', 'tool_calls'],
    broken: expectNoRows(
      `SELECT approval_id, status, used_by FROM approvals WHERE (status = 'consumed') <> (used_by IS NOT NULL)
       OR (status <> 'pending') <> (resolved_at IS NOT NULL)`,
    ),
  },
  {
    name: 'ended_goals_are_dated',
    promise: 'A goal that has ended says when and how.',
    tables: ['goals'],
    broken: expectNoRows(
      "SELECT goal_id, status FROM goals WHERE (status = 'active') <> (completed_at IS NULL) OR status <> 'active' AND result IS NULL",
    ),
  },
  {
    name: 'outcomes_are_written',
    promise: 'The journal has an outcome for each call that is done, and none for others.',
    tables: ['tool_calls'],
    broken: expectNoRows(
      "SELECT call_id, state FROM tool_calls WHERE (state = 'done') <> (outcome IS NOT NULL AND ended_at IS NOT NULL)",
    ),
  },
  {
    name: 'budget_adds_up',
    promise: 'What the budget says is spent is what its calls cost, one by one.',
    tables: ['spend', 'budget'],
    broken: expectNoRows(
      `SELECT b.spent_micros, b.spent_tokens, s.micros, s.tokens FROM budget b, (SELECT coalesce(sum(cost_micros), 0) AS micros,
         coalesce(sum(input_tokens + output_tokens), 0) AS tokens FROM spend WHERE budget_window =
         (SELECT budget_window FROM budget)) s WHERE b.spent_micros <> s.micros OR b.spent_tokens <> s.tokens`,
    ),
  },
  oneEventForEachEnd(),
]

/** Reads each event once: the check runs after every step, however long a simulated run goes on. */
function oneEventForEachEnd(): Invariant {
  let seen = 0
  const ends = new Map<string, number>()
  const count = (key: string) => ends.get(key) ?? 0
  return {
    name: 'one_event_for_each_end',
    promise: 'The end of a goal is reported once; again only after a checkpoint restored the goal.',
    tables: ['goals', 'events'],
    broken(look) {
      const events = look.all<{ seq: number; end: string }>(
        `SELECT seq, concat(iif(type = 'goal_changed', 'restored', substr(type, 6)), ' ', agent_id, ' ', data ->> '$.goal_id') AS end
         FROM events WHERE seq > ? AND (type IN ('goal_completed', 'goal_abandoned')
           OR type = 'goal_changed' AND data LIKE '%"restored"%') ORDER BY seq`,
        [seen],
      )
      for (const { seq, end } of events) {
        seen = seq
        ends.set(end, count(end) + 1)
      }
      const ended = look.all<{ status: string; goal: string }>(
        "SELECT status, concat(agent_id, ' ', goal_id) AS goal FROM goals WHERE status <> 'active'",
      )
      const wrong = ended.find(({ status, goal }) => {
        const times = count(`${status} ${goal}`)
        return times < 1 || times > 1 + count(`restored ${goal}`)
      })
      return (
        wrong && `${wrong.goal} is ${wrong.status}, which was reported ${count(`${wrong.status} ${wrong.goal}`)} times`
      )
    },
  }
}

/** Returns what is wrong with the order of a transcript's messages; undefined when it is right. */
function splitIn(messages: readonly Message[]): string | undefined {
  let open = new Set<string>()
  for (const [at, { role, tool_calls = [], tool_call_id = '' }] of messages.entries()) {
    if (role === 'tool') {
      if (!open.delete(tool_call_id)) return `message ${at} answers ${tool_call_id}, which no call before it asked for`
    } else {
      if (role === 'assistant' && open.size > 0) return `${[...open][0]} has no answer before message ${at}`
      if (role === 'assistant') open = new Set(tool_calls.map(({ id }) => id))
    }
  }
  return undefined
}

/** Returns whether a cycle may end with this result. */
export function isResult(result: string): boolean {
  return (CYCLE_RESULTS as readonly string[]).includes(result)
}

/** Promises that are checked by observation, rather than by reading rows. */
export const WATCHED = {
  no_cycle_when_paused: 'A paused or dead agent begins no cycle.',
  no_phase_when_frozen: 'While the daemon is frozen, no phase is entered.',
  driven_once: 'No agent is driven by two processes at once.',
  no_call_when_waiting: 'No model is called for an agent that waits for an approval.',
  gated_tools_wait: 'A gated tool runs only for exactly what was approved, once.',
  journal_first: 'A tool runs only after the intent to run it is written down.',
  at_most_once: 'A tool that is not idempotent never runs twice for one call.',
  no_request_refused: 'Every request has a form that each known provider accepts.',
  spend_has_a_call: 'Whatever was booked belongs to a call that was made.',
  nothing_for_free: 'What is spent and held is never less than what models were paid.',
  no_wake_lost: 'A nudge leads to a cycle as soon as the agent has rested.',
  acknowledged_is_kept: 'What was acknowledged to an operator is there.',
  decided_once: 'Of several decisions on one approval, one is taken.',
  known_results: 'A cycle ends in one of the ways there are.',
  goals_move_on: 'Once nothing fails any more, every active goal moves within three heartbeats.',
  nothing_left_behind: 'A service that was stopped holds no lease, no reservation and no timer.',
  quiet_when_well: 'Where nothing fails, nothing is logged as an error.',
  caught: 'Every error is caught by someone.',
} as const
