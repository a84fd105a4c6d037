import { type AgentRow, Agents } from '#core/agents/contract'
import { type Profile, Profiles } from '#core/profiles/contract'
import { Sessions } from '#core/sessions/contract'
import type { Effect, PluginHandle } from '#kernel'
import { Recordings } from '#observability/recordings/contract'
import { type RunBeginning, Runs } from '#observability/runs/contract'
import { appendEvent, isoTime } from '#platform/store/contract'
import type { TaskRow } from '../repository.ts'

/** Profile with which an agent works on a task, and the text of the skills that it names. */
export interface WorkingProfile {
  profile: Profile
  skills: string
}

/** Returns the model of an agent with this profile; null means the default one. */
export function modelOf(agent: AgentRow, profile: Profile): string | null {
  return agent.model || profile.model || null
}

/** Returns an agent's current profile with the text of its skills. */
export async function workingProfileOf(svc: PluginHandle, agent: AgentRow): Promise<WorkingProfile> {
  const profile = await svc.use(Agents).profileOf(agent)
  return { profile, skills: await svc.use(Profiles).skills(profile) }
}

/** Returns the details of a task's run for its log and its manifest. */
export function runOf({ agent_id, task_id, session_id }: TaskPlace, model: string | null): RunBeginning {
  return { agent_id, task_id, session_id, ...(model ? { model } : {}) }
}

/** Returns whether a task's session was made for it alone, so that it is no part of a conversation. */
export async function isAloneInSession(svc: PluginHandle, row: TaskRow): Promise<boolean> {
  const session = await svc
    .use(Sessions)
    .get(row.session_id, row.user_id)
    .catch(() => undefined)
  return session?.session_key === null && session.started_at === isoTime(row.created_at)
}

type TaskPlace = Pick<TaskRow, 'agent_id' | 'task_id' | 'session_id'>

/** Returns the event that work on a task has started. */
export function taskStarted(task: TaskPlace, run_id: string | null, traceparent: string | undefined): Effect {
  const { agent_id, task_id, session_id } = task
  const data = { agent_id, task_id, session_id, ...(traceparent ? { traceparent } : {}) }
  return appendEvent({ type: 'task_started', agent_id, run_id, data })
}

/** Starts the log of a task's run and adds the run to the recording. */
export function recordRunStart(svc: PluginHandle, run_id: string): void {
  svc.use(Runs).recordStart(run_id, 'task')
  if (svc.has(Recordings)) svc.use(Recordings).addTaskRun(run_id)
}

/**
 * Returns the writes for a new task that starts immediately.
 * @returns undefined if the agent's profile cannot be read: the task then starts and fails for that reason
 */
export async function startEffects(
  svc: PluginHandle,
  agent: AgentRow,
  { traceparent, ...place }: { task_id: string; session_id: string; traceparent: string | undefined },
): Promise<{ effects: Effect[]; first: { working: WorkingProfile; begun: { run_id: string | null } } } | undefined> {
  const working = await workingProfileOf(svc, agent).catch(() => undefined)
  if (!working) return undefined
  const task = { ...place, agent_id: agent.agent_id }
  const begins = svc.has(Runs)
    ? await svc.use(Runs).startEffects('task', runOf(task, modelOf(agent, working.profile)))
    : { run_id: null, effects: [] }
  const { run_id } = begins
  return {
    effects: [...begins.effects, taskStarted(task, run_id, traceparent)],
    first: { working, begun: { run_id } },
  }
}
