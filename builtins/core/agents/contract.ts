import type { ImageRef } from '#core/images/contract'
import { ModelParameters } from '#core/models/contract'
import type { Profile } from '#core/profiles/contract'
import { defineError, type Effect, type Project, point, token, z } from '#kernel'
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
  model: z.string().describe('provider:model, or empty for the default'),
  status: AgentStatus,
  goal: z
    .string()
    .nullable()
    .meta({ examples: ['Write a test for the parser'] })
    .describe('The objective of the active goal'),
})
/** How people name an agent. */
export const AgentRef = z
  .string()
  .min(1)
  .max(128)
  .meta({ examples: ['coder-1a2b3c4d'] })
  .describe("An agent's id, or its name when only one has it")

/** An agent as it stands in lists. */
export const AgentSummary = summary.meta({ id: 'AgentSummary' })
export type AgentSummary = z.infer<typeof AgentSummary>

/** Which agents a list shows. */
export const AgentFilter = z.object({
  status: AgentStatus.optional().describe('Only agents with this status'),
  all: z.boolean().default(true).describe('Include sub-agents that have ended'),
})
export type AgentFilter = z.input<typeof AgentFilter>

/** An agent as it stands in the status of all agents. */
export const StatusEntry = summary
  .extend({
    frozen_since: z.iso
      .datetime()
      .nullable()
      .describe('When the daemon was frozen, so that no agent works; null when it is not frozen'),
  })
  .meta({ id: 'StatusEntry' })
export type StatusEntry = z.infer<typeof StatusEntry>

/** When an agent does something again, and why not before. */
export const NextRun = z.object({
  at: z.iso.datetime().nullable().describe('null when that depends on something else than time'),
  reason: z.string(),
})
export type NextRun = z.infer<typeof NextRun>

const LimitedSpend = z.object({
  agent_id: z.string().describe('The agent whose limit it is: the agent itself, or one above it'),
  limit_usd: z.number().nullable().describe('null where there is no limit'),
  spent_usd: z.number().describe('What counts against the limit'),
})
const AgentBudget = z.object({
  pursuits: LimitedSpend.describe('Against `max_cost_usd` of the profile'),
  total: LimitedSpend.extend({ reserved_usd: z.number().describe('Held for model calls that are under way') }).describe(
    'Against `max_total_cost_usd`; of several limits that hold, the one with the least left',
  ),
})

export const AgentDetail = summary
  .extend({
    preset: z.string().meta({ examples: ['coder'] }),
    goal_id: z.string().nullable(),
    waiting_for: z.string().nullable().describe('What a waiting agent waits for'),
    error: z.string().nullable().describe('What went wrong last, until something goes right'),
    persona: z.record(z.string(), z.unknown()).nullable(),
    suffering: z.record(z.string(), z.unknown()).nullable(),
    mood: z.string().nullable(),
    world: z.record(z.string(), z.unknown()).nullable(),
    identity: z.record(z.string(), z.unknown()).nullable(),
    budget: AgentBudget.nullable().describe('Its limits beside what was spent; null where they are not known'),
    parameters: ModelParameters.nullable().describe('How its model answers; null where that is not known'),
    workspace: z.string().describe('Folder that it works in'),
    folders: z.array(GivenFolder).describe('Folders that the operator gave it; empty where it has its own only'),
    sandbox: SandboxStatus.nullable().describe('What surrounds its programs; null where it was given no folder'),
    spawned_by: z.string().nullable(),
    created_at: z.iso.datetime(),
    last_active: z.iso.datetime().nullable(),
    next_run_at: z.iso.datetime().nullable(),
    next: NextRun,
    cycle_count: z.number().int(),
    cost_usd: z.number(),
    tokens: z.number().int(),
  })
  .meta({ id: 'Agent' })
export type AgentDetail = z.infer<typeof AgentDetail>

/** An agent with what one wants to know of each at a glance. */
export const FleetMember = summary
  .extend({
    steps: z.number().int().nullable().describe('Steps that its active goal has taken'),
    held: z.string().nullable().describe('What keeps it from its work'),
    next_run_at: z.iso.datetime().nullable().describe('null while it works, or when that depends on something else'),
    last_active: z.iso.datetime().nullable(),
    cost_usd: z.number(),
    tokens: z.number().int(),
    cycle_count: z.number().int(),
    spawned_by: z.string().nullable(),
  })
  .meta({ id: 'FleetMember' })
export type FleetMember = z.infer<typeof FleetMember>

/** What a fleet can be sorted by, both ways. */
const FLEET_ORDERS = ['name', 'status', 'next', 'active', 'cost'] as const

/** Whatever keeps an agent from its work but an approval; a status of fleets alone. */
export const STUCK = 'stuck'

export const FleetQuery = AgentFilter.extend({
  q: z
    .string()
    .max(1000)
    .default('')
    .describe('Words that the id, the name, the goal, the model or what holds it contain'),
  status: z
    .enum([...STATUSES, STUCK])
    .optional()
    .describe('Only agents with this status; stuck: held by other than an approval'),
  sort: z
    .enum(['need', ...FLEET_ORDERS.flatMap(order => [order, `-${order}` as const])])
    .default('need')
    .describe('need: those first that wait for an approval or are stuck. A leading - reverses the order'),
  ...Page.shape,
})
export type FleetQuery = z.output<typeof FleetQuery>

const named = FleetMember.pick({ agent_id: true, name: true })

/** One page of agents at a glance, and the figures of all of them. */
export const Fleet = z
  .object({
    agents: z.array(FleetMember),
    matching: z.number().int().describe('The number of agents that match, on all pages'),
    summary: z
      .object({
        total: z.number().int().describe('The number of agents, without hidden ones'),
        hidden: z.number().int().describe('The number of ended sub-agents that are left out'),
        statuses: z.partialRecord(AgentStatus, z.number().int()),
        stuck: z.number().int(),
        cost_usd: z.number(),
        tokens: z.number().int(),
        next: named.extend({ at: z.iso.datetime() }).nullable().describe('The agent that runs next'),
        asking: z.array(named.extend({ held: z.string() })).describe('The first agents that wait for an approval'),
        reasons: z
          .array(z.object({ reason: z.string(), agents: z.number().int(), first: z.array(named) }))
          .describe('What holds most of the agents that are stuck'),
      })
      .describe('Of all agents, whatever the page shows'),
  })
  .meta({ id: 'Fleet' })
export type Fleet = z.infer<typeof Fleet>

/** An agent's row with its derived status, times in milliseconds. */
export interface AgentRow {
  agent_id: string
  name: string
  role: string
  /** Its role, where it was given one of its own. */
  given_role: string | null
  model: string
  preset: string
  status: AgentStatus
  paused_at: number | null
  died_at: number | null
  error: string | null
  waiting_for: string | null
  /** The guard that kept its last cycle from what it was there for. */
  held_by: string | null
  failures: number
  spawned_by: string | null
  /** Which of its folders it works in; an empty string for its own. */
  workspace: string
  folders: readonly GivenFolder[]
  /** Who pays for it: the one at the top, where it works for another; else itself. */
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

/** An agent that is made. */
export interface NewAgent {
  agent_id: string
  name: string
  role: string
  /** Its role, where it was given one of its own: else it lives by that of its preset, as that is then. */
  given_role?: string | null
  model: string
  preset: string
  /** The agent that it works for, whose folders it has too; null for one that works for no other. */
  spawned_by: string | null
  /** The folders that the operator gave it, and which of them it works in. */
  workspace?: string
  folders?: readonly GivenFolder[]
}

/** Returns the folders within reach of an agent. */
export function agentReach({ workspaces }: Project, agent: Pick<AgentRow, 'agent_id' | 'workspace' | 'folders'>) {
  const scratch = `${workspaces}/${agent.agent_id}`
  return { workspace: agent.workspace || scratch, scratch, folders: agent.folders }
}

/** What a git worktree is made for: all work of an agent, or each of its goals. */
export const WorktreePer = z.enum(['agent', 'goal'])
export type WorktreePer = z.infer<typeof WorktreePer>

/** Gives new agents a git worktree of the repository that they are to work in. */
export interface Worktrees {
  /**
   * Makes the worktree of an agent that is about to be made, in the agent's own folder.
   * @param repository the folder that the operator gave it to work in
   * @returns the folders that take that one's place, the worktree first, and what to commit with the agent
   * @throws FolderError when the folder is no repository
   */
  create(agent_id: string, repository: string, per: WorktreePer): Promise<{ folders: GivenFolder[]; effects: Effect[] }>
}
export const Worktrees = token<Worktrees>('worktrees')

/** Maximum number of the operator's messages in one prompt. */
export const NUDGES_AT_ONCE = 20
export const NudgeReceived = z
  .object({ agent_id: z.string(), nudge_id: z.string() })
  .describe('The operator left a message for an agent')

export interface Agents {
  /** An agent by id, or by name when exactly one live agent has it. @throws AgentNotFoundError, AmbiguousAgentError */
  find(ref: string): Promise<AgentRow>
  /** In the order of their creation. */
  list(page: { limit?: number | undefined; offset?: number }): Promise<AgentRow[]>
  /** Whether an agent of this preset lives. */
  hasAlive(preset: string): Promise<boolean>
  /** How many agents have each status, and how many goals are active. */
  counts(): Promise<Record<AgentStatus | 'goals_active' | 'total', number>>
  /** What other live agents are at, a line each, at most `limit`. */
  peers(agent_id: string, limit: number): Promise<string[]>
  /** Other live agents, the newest first, at most `limit`. */
  listOthers(agent_id: string, limit: number): Promise<{ name: string; role: string }[]>
  /** @deprecated Use `listOthers`. */
  others?: Agents['listOthers']
  /** The operator's messages that no model has answered yet, oldest first, at most `NUDGES_AT_ONCE`. */
  waitingNudges(agent_id: string): Promise<{ nudge_id: string; message: string; images: ImageRef[] }[]>
  /** Marks nudges as read: belongs into the commit that records the model's answer to the prompt that held them. */
  nudgesDelivered(nudge_ids: readonly string[]): Effect
  /** Records the outcome of a cycle: an error increments the failures, null clears them. `waiting_for` shows the agent as waiting. */
  recordOutcome(outcome: { agent_id: string; error: string | null; waiting_for: string | null }): Effect
  /** @deprecated Use `recordOutcome`. */
  fared?: Agents['recordOutcome']
  /** The profile that an agent lives by: its preset, as those shape it that have a say in it; for a cycle, as of this `beat`. */
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

/** Has a say in what an agent's preset means for it. */
export interface ProfileShape {
  name: string
  /** It moves only what moves by itself as a person does: an agent whose profile was shaped so lives by the same one still. */
  passing?: boolean
  shape(agent: NewAgent, profile: Profile): Profile | Promise<Profile>
}
export const ProfileShapes = point<ProfileShape>('profile_shapes', {
  key: ({ name }) => name,
  has: { name: 'text', shape: 'function' },
})

/** What a module knows of an agent, shown as this field of its detail. */
export interface AgentFacet {
  name: 'persona' | 'suffering' | 'mood' | 'world' | 'identity' | 'budget' | 'parameters' | 'sandbox'
  /** null when it has none */
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
      .describe('Branches of your repositories with its changes that you had not accepted'),
  })
  .meta({ id: 'DeletedAgent' })
export type DeletedAgent = z.infer<typeof DeletedAgent>

/** Keeps something of an agent that is about to be deleted, while its rows are there. What it throws stops nothing. */
export interface DeleteHook {
  name: string
  /** Returns the branches that it made to keep changes, if any. */
  part(agent: AgentRow): Promise<DeletedAgent['kept_branches'] | void>
}
export const DeleteHooks = point<DeleteHook>('delete-hooks', {
  key: ({ name }) => name,
  has: { name: 'text', part: 'function' },
})

/** Why an agent does not run, as far as one module knows; `at`, in milliseconds, when it will. */
export interface BlockReason {
  name: string
  /** Who is asked first: what holds all agents before what holds one, what lasts before what passes. */
  stage: number
  why(agent: AgentRow): Promise<{ reason: string; at: number | null } | undefined>
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

export const AgentNotFoundError = defineError({
  code: 'agent_not_found',
  status: 404,
  title: 'Agent not found',
  message: (p: { ref: string }) => `No agent has the id or name "${p.ref}"; list them with: svc status`,
})
export const AmbiguousAgentError = defineError({
  code: 'ambiguous_agent',
  status: 409,
  title: 'Ambiguous agent',
  message: (p: { ref: string; ids: string[] }) =>
    `Several agents are called "${p.ref}"; name one by its id: ${p.ids.join(', ')}.`,
})
export const AgentDeadError = defineError({
  code: 'agent_dead',
  status: 409,
  title: 'Agent dead',
  message: (p: { agent_id: string }) => `Agent ${p.agent_id} is dead. A dead agent can only be removed.`,
})

/** The agent of the running cycle, as it was when the cycle began. */
export const ActiveAgent = token<AgentRow>('active_agent')
