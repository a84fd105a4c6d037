import { defineError, type Effect, token, z } from '#kernel'
import type { SentFiles } from '#society/a2a/contract'

/** A goal that one agent gave to another. */
export const Delegation = z
  .object({
    delegation_id: z.string().meta({ examples: ['dlg-1a2b3c4d'] }),
    message_id: z.string().describe('Id of the DELEGATE message that started the delegation'),
    from_agent: z.string().describe("An agent's id, or `operator`"),
    to_agent: z.string(),
    goal_id: z.string().describe('Goal of the agent that does the task'),
    from_goal_id: z.string().nullable().describe('Goal of the delegating agent that the task belongs to'),
    objective: z.string(),
    waits: z.boolean().describe('Whether the goal in `from_goal_id` waits for the result'),
    status: z.enum(['pending', 'completed', 'failed']),
    result: z.string().nullable().describe('What was achieved, or why the task failed'),
    created_at: z.iso.datetime(),
    ended_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Delegation' })
export type Delegation = z.infer<typeof Delegation>

/** A task to delegate. */
export interface NewDelegation {
  from_agent: string
  /**
   * An agent's id, its name where that is unique, or `best_peer`: the agent that does such work best, while the swarm's
   * policy acts.
   */
  to: string
  objective: string
  /** What else the other agent needs to know. */
  details?: string | undefined
  files?: SentFiles
  /** Goal that the task belongs to; with `waits`, this goal is suspended until the delegation ends. */
  from_goal_id: string | null
  waits: boolean
}

export interface Delegations {
  /**
   * Prepares a delegation: a DELEGATE message, answered at once with ACK or REJECT by policy, and with ACK the
   * recipient's goal. Nothing happens until the effects are committed.
   */
  give(
    task: NewDelegation,
  ): Promise<{ delegation_id: string | null; to_agent: string; answer: string; effects: Effect[] }>
  /** @throws DelegationNotFoundError also for a delegation of another agent */
  find(delegation_id: string, from_agent: string): Promise<Delegation>
}
export const Delegations = token<Delegations>('delegations')

/** Recipient value that selects the agent with the best results in such work. */
export const BEST_PEER = 'best_peer'

/** Machine-readable metadata of a DELEGATE message. */
export const DelegateMetadata = z.object({
  from_goal_id: z.string().nullable().default(null),
  waits: z.boolean().default(false),
})

/** Maximum length of a delegated goal and of its details, in characters. One message holds both. */
export const LONGEST_OBJECTIVE = 500
export const LONGEST_DETAILS = 7_000

export const DelegationEnded = z
  .object({
    agent_id: z.string().nullable(),
    delegation_id: z.string(),
    to_agent: z.string(),
    goal_id: z.string(),
    status: z.enum(['completed', 'failed']),
  })
  .describe('A delegated task ended: it was completed, abandoned or not done in time, or its agent is gone')

declare module '#kernel' {
  interface Events {
    delegation_ended: z.infer<typeof DelegationEnded>
  }
}

export const NoBestPeerError = defineError({
  code: 'no_best_peer',
  status: 409,
  title: 'No best peer',
  message: (p: { problem: string }) => `Cannot choose ${BEST_PEER}: ${p.problem}. Name an agent.`,
})
export const DelegationNotFoundError = defineError({
  code: 'delegation_not_found',
  status: 404,
  title: 'Delegation not found',
  message: (p: { delegation_id: string; agent_id: string; given: string[] }) =>
    `${p.agent_id} has given no delegation "${p.delegation_id}"${p.given.length > 0 ? `; its newest are ${p.given.join(', ')}` : ''}.`,
})
