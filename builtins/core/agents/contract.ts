import type { ImageRef } from '#core/images/contract'
import { ModelParameters } from '#core/models/contract'
import type { Profile } from '#core/profiles/contract'
import { closestMatches, defineError, didYouMean, type Effect, type Project, point, token, z } from '#kernel'
import { idSchema } from '#lib/id-schema'
import { Page } from '#lib/list'
import { GivenFolder, SandboxStatus } from '#safety/sandbox/contract'

export { shapeProfile } from './shape-profile.ts'

export const STATUSES = ['working', 'idle', 'waiting', 'waiting_approval', 'paused', 'dead'] as const
export const AgentStatus = z.enum(STATUSES)
export type AgentStatus = z.infer<typeof AgentStatus>

const summary = z.object({
  agent_id: z.string().meta({ examples: ['coder-1a2b3c4d'] }),
  name: z.string().meta({ examples: ['coder'] }),
  role: z.string().meta({ examples: ['keeps the tests green'] }),
  model: z.string().describe('Model as provider:model; empty for the default'),
  status: AgentStatus,
  goal: z
    .string()
    .nullable()
    .meta({ examples: ['Write a test for the parser'] })
    .describe('The objective of the active goal'),
})
/** Reference to an agent, by id or name. */
export const AgentRef = idSchema('Agent id, or agent name if it is unique', 'coder-1a2b3c4d')

/** Name of the agent that an entry belongs to, selected by `agentNameOf`. */
export const AgentName = z.string().nullable().describe('Current name of the agent; null for a deleted one')

/** An agent as it stands in lists. */
export const AgentSummary = summary.meta({ id: 'AgentSummary' })
export type AgentSummary = z.infer<typeof AgentSummary>

/** Filter of the agents in a list. */
export const AgentFilter = z.object({
  status: AgentStatus.optional().describe('Only agents with this status'),
  all: z.boolean().default(true).describe('Include sub-agents that have ended'),
})
export type AgentFilter = z.input<typeof AgentFilter>

/** An agent as it stands in the status of all agents. */
export const StatusEntry = summary
  .extend({
    failures: z.int().describe('Number of cycles that failed since the last success'),
    waiting_task: z.string().nullable().describe('A task of the agent that waits for an approval'),
    frozen_since: z.iso
      .datetime()
      .nullable()
      .describe('Time since which the daemon is frozen and no agent runs; null when it is not frozen'),
  })
  .meta({ id: 'StatusEntry' })
export type StatusEntry = z.infer<typeof StatusEntry>

/** When an agent runs next, and what blocks it until then. */
export const NextRun = z.object({
  at: z.iso.datetime().nullable().describe('Time of the next run; null when it depends on something other than time'),
  reason: z.string(),
})
export type NextRun = z.infer<typeof NextRun>

const LimitedSpend = z.object({
  agent_id: z.string().describe('Agent whose limit applies: the agent itself or one of its parents'),
  limit_usd: z.number().nullable().describe('Limit in USD; null for no limit'),
  spent_usd: z.number().describe('Spending that counts against the limit, in USD'),
})
const AgentBudget = z.object({
  pursuits: LimitedSpend.describe('Spending on pursuits and its limit, `max_cost_usd` of the profile'),
  total: LimitedSpend.extend({
    reserved_usd: z.number().describe('Amount reserved for running model calls, in USD'),
  }).describe(
    'Total spending and its limit, `max_total_cost_usd`; if several limits apply, the one with the least left',
  ),
})

export const AgentDetail = summary
  .extend({
    preset: z.string().meta({ examples: ['coder'] }),
    goal_id: z.string().nullable(),
    waiting_for: z.string().nullable().describe('What a waiting agent waits for'),
    error: z.string().nullable().describe('Last error; null after the next success'),
    persona: z.record(z.string(), z.unknown()).nullable(),
    suffering: z.record(z.string(), z.unknown()).nullable(),
    mood: z.string().nullable(),
    world: z.record(z.string(), z.unknown()).nullable(),
    identity: z.record(z.string(), z.unknown()).nullable(),
    budget: AgentBudget.nullable().describe('Limits and spending; null when unknown'),
    parameters: ModelParameters.nullable().describe('Parameters of model calls; null when unknown'),
    workspace: z.string().describe('Folder in which the agent works'),
    folders: z
      .array(GivenFolder)
      .describe('Folders that the operator gave to the agent; empty when it has only its own folder'),
    sandbox: SandboxStatus.nullable().describe(
      'Sandbox in which the agent runs programs; null when the operator gave it no folder',
    ),
    spawned_by: z.string().nullable(),
    created_at: z.iso.datetime(),
    last_active: z.iso.datetime().nullable(),
    next_run_at: z.iso.datetime().nullable(),
    next: NextRun,
    cycle_count: z.int(),
    cost_usd: z.number(),
    tokens: z.int(),
  })
  .meta({ id: 'Agent' })
export type AgentDetail = z.infer<typeof AgentDetail>

/** An agent with the key figures of an overview. */
export const FleetMember = summary
  .extend({
    steps: z.int().nullable().describe('Number of steps taken for the active goal'),
    held: z.string().nullable().describe('What blocks the agent, such as a pending approval or a failure'),
    waits_for: z
      .enum(['approval', 'answer', 'work'])
      .nullable()
      .describe(
        "What that is, if it waits: the operator's approval or answer, or the work of other agents or a process",
      ),
    stuck: z.boolean().describe('Whether something else blocks it'),
    next_run_at: z.iso
      .datetime()
      .nullable()
      .describe('Time of the next run; null while the agent runs, or when the time depends on something else'),
    last_active: z.iso.datetime().nullable(),
    cost_usd: z.number(),
    tokens: z.int(),
    cycle_count: z.int(),
    spawned_by: z.string().nullable(),
  })
  .meta({ id: 'FleetMember' })
export type FleetMember = z.infer<typeof FleetMember>

/** Fields by which a fleet can be sorted, ascending or descending. */
const FLEET_ORDERS = ['name', 'status', 'next', 'active', 'cost'] as const

/** Status of agents that are blocked by something that they do not wait for; used only in fleets. */
export const STUCK = 'stuck'

export const FleetQuery = AgentFilter.extend({
  q: z
    .string()
    .max(1000)
    .default('')
    .describe('Search words; all must occur in the id, name, goal, model or block reason'),
  status: z
    .enum([...STATUSES, STUCK])
    .optional()
    .describe('Only agents with this status; stuck: blocked by something that it does not wait for'),
  sort: z
    .enum(['need', ...FLEET_ORDERS.flatMap(order => [order, `-${order}` as const])])
    .default('need')
    .describe(
      'Sort order; need: agents that wait for the operator or are stuck come first. A leading - reverses the order',
    ),
  ...Page.shape,
})
export type FleetQuery = z.output<typeof FleetQuery>

const named = FleetMember.pick({ agent_id: true, name: true })

/** One page of agents with their key figures, and totals of all of them. */
export const Fleet = z
  .object({
    agents: z.array(FleetMember),
    matching: z.int().describe('Number of matching agents on all pages'),
    summary: z
      .object({
        total: z.int().describe('Number of agents, without hidden ones'),
        hidden: z.int().describe('Number of ended sub-agents that are left out'),
        statuses: z.partialRecord(AgentStatus, z.int()),
        stuck: z.int(),
        cost_usd: z.number(),
        tokens: z.int(),
        next: named.extend({ at: z.iso.datetime() }).nullable().describe('The agent that runs next'),
        asking: z.array(named.extend({ held: z.string() })).describe('The first agents that wait for an approval'),
        reasons: z
          .array(z.object({ reason: z.string(), agents: z.int(), first: z.array(named) }))
          .describe('Most common reasons why agents are stuck'),
      })
      .describe('Totals of all agents, regardless of page and filter'),
  })
  .meta({ id: 'Fleet' })
export type Fleet = z.infer<typeof Fleet>

/** An agent's row with its derived status, times in milliseconds. */
export interface AgentRow {
  agent_id: string
  name: string
  role: string
  /** The agent's own role; null where the role of its preset applies. */
  given_role: string | null
  model: string
  preset: string
  status: AgentStatus
  paused_at: number | null
  died_at: number | null
  error: string | null
  waiting_for: string | null
  /** The guard that blocked the agent's last cycle. */
  held_by: string | null
  failures: number
  spawned_by: string | null
  /** The one of its folders in which the agent works; an empty string for the agent's own folder. */
  workspace: string
  folders: readonly GivenFolder[]
  /** The agent whose budget pays: the topmost parent of a sub-agent, otherwise the agent itself. */
  root_agent_id: string
  created_at: number
  last_active: number | null
  goal_id: string | null
  objective: string | null
  run_at: number | null
  cycle_num: number
  /** Whether it has a schedule that counts its cycles. */
  counts_cycles: number
}

/** An agent to create. */
export interface NewAgent {
  agent_id: string
  name: string
  role: string
  /** The agent's own role; without one, the current role of its preset applies. */
  given_role?: string | null
  model: string
  preset: string
  /** The agent that it works for and whose folders it shares; null for an agent without a parent. */
  spawned_by: string | null
  /** The one of `folders` in which the agent works. */
  workspace?: string
  folders?: readonly GivenFolder[]
}

/** Returns the folders within reach of an agent. */
export function agentReach({ workspaces }: Project, agent: Pick<AgentRow, 'agent_id' | 'workspace' | 'folders'>) {
  const scratch = `${workspaces}/${agent.agent_id}`
  return { workspace: agent.workspace || scratch, scratch, folders: agent.folders }
}

/** Scope of a git worktree: all work of an agent, or each of its goals. */
export const WorktreePer = z.enum(['agent', 'goal'])
export type WorktreePer = z.infer<typeof WorktreePer>

/** Creates git worktrees of a repository for new agents. */
export interface Worktrees {
  /**
   * Creates the worktree of a new agent, in the agent's own folder.
   * @param repository the folder that the operator gave the agent to work in
   * @returns the folders that replace the given one, the worktree first, and what to commit with the agent
   * @throws FolderError when the folder is no repository
   */
  create(agent_id: string, repository: string, per: WorktreePer): Promise<{ folders: GivenFolder[]; effects: Effect[] }>
}
export const Worktrees = token<Worktrees>('worktrees')

/** Adds the first goals of new agents; provided by the module of goals, which needs this one. */
export interface FirstGoals {
  /** Returns the writes that add an operator's goal to an agent that is inserted before them. */
  add(agent_id: string, objective: string): Effect[]
}
export const FirstGoals = token<FirstGoals>('first_goals')

/** Maximum number of the operator's messages in one prompt. */
export const NUDGES_AT_ONCE = 20
export const NudgeReceived = z
  .object({ agent_id: z.string(), nudge_id: z.string() })
  .describe('The operator left a message for an agent')

export interface Agents {
  /**
   * An agent by id, or by name when exactly one live agent has it. @param asker agent that looks for it: an error names
   * other agents instead of a command @throws AgentNotFoundError, AmbiguousAgentError
   */
  find(ref: string, asker?: string): Promise<AgentRow>
  /** Returns agents in the order of their creation. */
  list(page: { limit?: number | undefined; offset?: number }): Promise<AgentRow[]>
  /** Returns whether a live agent has this preset. */
  hasAlive(preset: string): Promise<boolean>
  /** Returns the number of agents by status, and the number of active goals. */
  counts(): Promise<Record<AgentStatus | 'goals_active' | 'total', number>>
  /** Returns why no agent works, such as that no daemon runs; undefined if agents can. */
  blockOfAll(): Promise<string | undefined>
  /** Describes what other live agents do, without sub-agents, one line each, at most `limit`. */
  peers(agent_id: string, limit: number): Promise<string[]>
  /** Other live agents without sub-agents, the newest first, at most `limit`. */
  listOthers(agent_id: string, limit: number): Promise<{ agent_id: string; name: string; role: string }[]>
  /** @deprecated Use `listOthers`. */
  others?: Agents['listOthers']
  /** The operator's messages that no model has answered yet, oldest first, at most `NUDGES_AT_ONCE`. */
  waitingNudges(agent_id: string): Promise<{ nudge_id: string; message: string; images: ImageRef[] }[]>
  /** Returns the writes that send a live agent a nudge, and wake it. */
  nudgeEffects(agent_id: string, message: string): Effect[]
  /** Marks nudges as read. Belongs in the commit that records the model's answer to the prompt that contained them. */
  nudgesDelivered(nudge_ids: readonly string[]): Effect
  /** Records the outcome of a cycle: an error increments the failures, null clears them. `waiting_for` shows the agent as waiting. */
  recordOutcome(outcome: { agent_id: string; error: string | null; waiting_for: string | null }): Effect
  /** @deprecated Use `recordOutcome`. */
  fared?: Agents['recordOutcome']
  /**
   * Returns an agent's profile: its preset, changed by the `ProfileShapes`. `beat` reads it as of the current
   * heartbeat, for a cycle.
   */
  profileOf(agent: AgentRow, when?: 'now' | 'beat'): Promise<Profile>
  /** Returns the writes that create an agent. It is due at once. */
  create(agent: NewAgent): Effect[]
  /** @deprecated Use `create`. */
  born?: Agents['create']
  /** Returns the writes that end an agent for good; its row stays. A running cycle ends before its next model call. */
  markDead(agent_id: string): Effect[]
  /** @deprecated Use `markDead`. */
  died?: Agents['markDead']
  /** Removes an agent with all of its rows, and moves its files to the trash. @throws AgentNotFoundError */
  delete(agent_id: string): Promise<DeletedAgent>
}
export const Agents = token<Agents>('agents')

/** Changes the profile that an agent gets from its preset. */
export interface ProfileShape {
  name: string
  /** Whether the shape changes only passing values, such as mood; these do not count as a change of the profile. */
  passing?: boolean
  shape(agent: NewAgent, profile: Profile): Profile | Promise<Profile>
}
export const ProfileShapes = point<ProfileShape>('profile_shapes', {
  key: ({ name }) => name,
  has: { name: 'text', shape: 'function' },
})

/** A module's data about an agent, shown as this field of the agent's detail. */
export interface AgentFacet {
  name: 'persona' | 'suffering' | 'mood' | 'world' | 'identity' | 'budget' | 'parameters' | 'sandbox'
  /** Returns null when the agent has none. */
  read(agent: AgentRow): Promise<AgentDetail[AgentFacet['name']]>
}
export const AgentFacets = point<AgentFacet>('agent_facets', {
  key: ({ name }) => name,
  has: { name: 'text', read: 'function' },
})

export const DeletedAgent = z
  .object({
    agent_id: z.string().meta({ examples: ['coder-1a2b3c4d'] }),
    kept_branches: z
      .array(
        z.object({
          repository: z.string().meta({ examples: ['/home/ada/project'] }),
          branch: z.string().meta({ examples: ['svc/coder-1a2b3c4d'] }),
        }),
      )
      .describe('Branches of your repositories with changes of the agent that you had not accepted'),
  })
  .meta({ id: 'DeletedAgent' })
export type DeletedAgent = z.infer<typeof DeletedAgent>

/** Saves data of an agent before its rows are deleted. Errors of a hook do not stop the deletion. */
export interface DeleteHook {
  name: string
  /** Returns the branches that the hook created to keep changes, if any. */
  part(agent: AgentRow): Promise<DeletedAgent['kept_branches'] | void>
}
export const DeleteHooks = point<DeleteHook>('delete-hooks', {
  key: ({ name }) => name,
  has: { name: 'text', part: 'function' },
})

/** What keeps an agent from running. */
export interface Block {
  reason: string
  /** When it will run, in milliseconds. */
  at: number | null
  /** Whether the agent waits until the operator does something; `svc doctor` then warns. */
  needsOperator?: boolean
}

/** Returns why an agent does not run, as far as one module knows. */
export interface BlockReason {
  name: string
  /** Lower ones are asked first: reasons for all agents before those for one, lasting ones before passing ones. */
  stage: number
  why(agent: AgentRow): Promise<Block | undefined>
}
export const BlockReasons = point<BlockReason>('block_reasons', {
  key: hold => hold.name,
  has: { name: 'text', stage: 'number', why: 'function' },
  stage: hold => hold.stage,
  ask: (hold, agent: AgentRow) => hold.why(agent),
})

declare module '#kernel' {
  interface Events {
    agent_spawned: { agent_id: string; name: string; preset: string }
    agent_changed: { agent_id: string; changes: string[] }
    agent_deleted: { agent_id: string }
    nudge_received: z.infer<typeof NudgeReceived>
    agent_died: { agent_id: string }
  }
}

function othersNote(others: readonly string[] | undefined): string {
  if (others === undefined) return 'list them with: svc status'
  return others.length > 0 ? `other agents are: ${others.join(', ')}.` : 'there are no other agents.'
}
/** No agent has this id or name; list them with: svc status. */
export const AgentNotFoundError = defineError({
  code: 'agent_not_found',
  status: 404,
  title: 'Agent not found',
  /** @param p.known names of all agents, for an operator; @param p.others agents that an agent may have meant, for which the command is of no use; empty for none */
  message: (p: { ref: string; others?: readonly string[] | undefined; known?: readonly string[] }) =>
    `No agent has the id or name "${p.ref}"; ${closestMatches(p.ref, p.known ?? []).length > 0 ? didYouMean(p.ref, p.known!) : othersNote(p.others)}`,
})
export const AmbiguousAgentError = defineError({
  code: 'ambiguous_agent',
  status: 409,
  title: 'Ambiguous agent',
  message: (p: { ref: string; ids: string[] }) =>
    `Several agents are called "${p.ref}"; name one by its id: ${p.ids.join(', ')}.`,
})
export const AgentNameTakenError = defineError({
  code: 'agent_name_taken',
  status: 409,
  title: 'Agent name taken',
  message: (p: { name: string; agent_id: string }) =>
    `The name "${p.name}" is taken by agent ${p.agent_id}; choose another name.`,
})
export const AgentDeadError = defineError({
  code: 'agent_dead',
  status: 409,
  title: 'Agent is dead',
  message: (p: { agent_id: string }) => `Agent ${p.agent_id} is dead. A dead agent can only be removed.`,
})

/** The agent of the running cycle, as it was when the cycle began. */
export const ActiveAgent = token<AgentRow>('active_agent')
