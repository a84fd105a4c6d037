import type { AgentRow } from '#core/agents/contract'
import type { ImageRef } from '#core/images/contract'
import type { Spend } from '#core/models/contract'
import type { InnerLife, Profile } from '#core/profiles/contract'
import type { Claim } from '#core/runtime/contract'
import { defineError, type Effect, point, token, type Undo, z } from '#kernel'
import type { Reach } from '#safety/sandbox/contract'

export { resultOf, shortArguments, toolResult } from './pursuit/tool-result.ts'

const command = z.string().trim().min(1).max(2000)
const file = z.string().trim().min(1).max(500)
const rubric = z.string().trim().min(1).max(4000)
const model = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .optional()
  .describe("Model that judges the rubric (default: the agent's own)")

/** One criterion that must be met before a goal counts as reached. */
export const Acceptance = z.union([
  z.strictObject({ command: command.describe('Command that must exit with 0 in the workspace of the agent') }),
  z.strictObject({ file: file.describe('File that must exist in the workspace of the agent') }),
  z.strictObject({ rubric: rubric.describe('Rubric that a model must judge as met'), model }),
  z.strictObject({ operator: z.literal(true).describe('The operator must accept the result') }),
])
export type Acceptance = z.infer<typeof Acceptance>
/** Options of commands that take criteria. */
export const ACCEPTANCE_OPTIONS = {
  acceptance: {
    'accept-command': 'command',
    'accept-file': 'file',
    'accept-rubric': 'rubric',
    'accept-operator': 'operator',
  },
}

/** A criterion with the result of its last check. */
export const AcceptanceCheck = z
  .object({
    command: command.optional(),
    file: file.optional(),
    rubric: rubric.optional(),
    model,
    operator: z.literal(true).optional(),
    met: z.boolean().nullable().describe('Whether the criterion is met; null until it is checked'),
    problem: z.string().nullable().describe('Reason why the criterion is not met'),
  })
  .meta({ id: 'AcceptanceCheck' })
export type AcceptanceCheck = z.infer<typeof AcceptanceCheck>

/** One step of the plan for a goal. */
export const PlanStep = z
  .object({
    step: z.string().trim().min(1).max(300).describe('The step, in a few words'),
    status: z.enum(['pending', 'in_progress', 'done', 'skipped']),
  })
  .meta({ id: 'PlanStep' })
export type PlanStep = z.infer<typeof PlanStep>

export const Goal = z
  .object({
    goal_id: z.string().meta({ examples: ['goal-9c8b7a6d5e4f'] }),
    agent_id: z.string().meta({ examples: ['coder-1a2b3c4d'] }),
    objective: z.string().meta({ examples: ['Write a test for the parser'] }),
    status: z.enum(['active', 'completed', 'abandoned']),
    priority: z.int().describe('Priority; higher goes first (default: 4)'),
    origin: z.string().describe('Origin of the goal: `generated`, `operator`, `subgoal` or another source'),
    parent_goal_id: z.string().nullable(),
    reasoning: z.string().nullable(),
    result: z.string().nullable().describe('What was achieved, or why the goal was abandoned'),
    unconfirmed: z.boolean().describe('Whether the goal was completed by an answer alone, without finish_goal'),
    steps_completed: z.int(),
    cost_usd: z
      .number()
      .nullable()
      .describe('Cost of the model calls for the goal; null before the first, and when their records are removed'),
    tokens: z.int().nullable().describe('Tokens of the model calls for the goal, null like the cost'),
    acceptance: z.array(AcceptanceCheck).describe('Criteria that must be met before the goal counts as reached'),
    refusals: z.int().describe('Number of times that the result was refused because a criterion was not met'),
    plan: z.array(PlanStep).describe('Plan of the agent for the goal; empty for none'),
    after: z.array(z.string()).describe('Goals that must end before this one begins'),
    question_id: z.string().nullable().describe('Open question that the goal waits for'),
    waits_for: z
      .string()
      .nullable()
      .describe('What the goal waits for now, in words: decisions and answers of the operator, and other goals'),
    deadline: z.iso.datetime().nullable().describe('Time at which the goal is abandoned if it is not reached'),
    created_at: z.iso.datetime(),
    completed_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Goal' })
export type Goal = z.infer<typeof Goal>

/** Fields of a goal that its row stores in another form, or not at all. */
type GoalDetail =
  | ('created_at' | 'completed_at' | 'unconfirmed' | 'acceptance' | 'cost_usd' | 'tokens')
  | ('plan' | 'after' | 'question_id' | 'waits_for' | 'deadline')

export interface GoalRow extends Omit<Goal, GoalDetail> {
  unconfirmed: number
  /** A JSON array of `AcceptanceCheck`; null for none. */
  acceptance: string | null
  /** A JSON array of `PlanStep`; null for none. */
  plan: string | null
  deadline_at: number | null
  /** Whether its end was refused because evidence was missing: 1 for an answer without `finish_goal`, 2 for a call of it. */
  claims_refused: number
  created_at: number
  completed_at: number | null
}

/** The goal that a cycle pursues. */
export interface PursuedGoal extends GoalRow {
  /** Whether it waits: for its subgoals, for an answer, or for another goal to end. */
  blocked: number
  /** Whether the operator sent messages that no model has answered yet. */
  nudged: number
  /** Whether subgoals have ended whose result its pursuit has not read. */
  unreported: number
  /** Number of times its agent was woken. */
  wakes: number
  /** The messages that led to it and the images that its first message shows, as they are stored. */
  messages: string | null
  images: string | null
  /** Whether it must wait for other goals. */
  follows: number
  /** Whether other goals of its agent have ended, subgoals aside. */
  has_earlier: number
  /** Whether its agent has read messages of the operator before the goal began. */
  was_nudged: number
  /** The question to the operator that it waits for. */
  question_id: string | null
  /** The epoch of the lease under which its transcript was last written; null where the last writer was not a cycle. */
  transcript_epoch: number | null
}

export const ToolResult = z
  .object({
    agent_id: z.string(),
    goal_id: z.string().nullable().describe('null for a one-shot task'),
    tool: z.string(),
    ok: z.boolean(),
    ran: z
      .boolean()
      .optional()
      .describe('false for a call that did not run, because it was denied, invalid, or too late'),
    call_id: z.string().describe('Id of the call in the tool journal'),
    step: z.int(),
    arguments: z.string().describe('JSON, cut after 1,000 characters'),
    output: z.string().describe('Output as the model read it, cut after 500 characters'),
    duration_ms: z.number(),
  })
  .describe('A tool call ended')

export const GoalAdded = z
  .object({
    agent_id: z.string(),
    goal_id: z.string(),
    objective: z.string(),
    origin: z.string(),
    parent_goal_id: z.string().nullable(),
  })
  .describe("A goal was added by something other than the agent's own goal generation; `origin` names the source")
export const GoalChanged = z
  .object({ agent_id: z.string(), goal_id: z.string(), changes: z.array(z.string()) })
  .describe('The priority or the acceptance criteria of a goal were changed, or a goal was restored')

export const GoalNotAccepted = z
  .object({ agent_id: z.string(), goal_id: z.string(), refusals: z.int(), problem: z.string() })
  .describe('An agent reported its goal as finished, but a criterion is not met')
export const GoalDeclined = z
  .object({ agent_id: z.string(), goal_id: z.string(), reason: z.string() })
  .describe('An agent declined its goal; goal_abandoned follows')

export const PlanUpdated = z
  .object({
    agent_id: z.string(),
    goal_id: z.string(),
    steps: z.int(),
    done: z.int().describe('Number of steps that are done or skipped'),
    current: z.string().nullable().describe('Current step of the plan'),
  })
  .describe('An agent wrote its plan, or updated its progress')

export const GoalRefused = z
  .object({ agent_id: z.string(), objective: z.string(), reason: z.string() })
  .describe('A goal from an agent or a goal strategy was refused')

/** Context of an idle agent for goal strategies. Modules add their fields by merging into this interface. */
export interface GoalContext {
  agent_id: string
  cycle_num: number
  signal: AbortSignal
  /** The topmost agent that this one works for; the agent itself where it has no parent. */
  root_agent_id: string
  profile: Profile
  /** The agent's model as its row names it; null for the default. */
  model: string | null
  /** Newest first; earlier ones without their results. */
  recent_goals: readonly GoalRow[]
  /** What the model answered instead of a goal when it was last asked, as a line of the prompt. */
  last_answer?: string | undefined
  peer_summaries: readonly string[]
  /** Unanswered messages of the operator. */
  nudges: readonly string[]
  /** The images of these messages. */
  images: readonly ImageRef[]
  /** Messages from others, each with its sender. */
  news: readonly string[]
  memory_snippets: readonly string[]
  tools_description: string
  /** The modules' sections about the agent's situation, in the order of the prompt. */
  sections: readonly { name: string; text: string }[]
}

export interface GeneratedGoal {
  /** null: no goal this time. */
  objective: string | null
  reasoning?: string
  cost_usd: number
  tokens: number
  /** Set when the strategy never repeats a goal. */
  no_duplicates?: boolean
  /**
   * Whether a model's answer could not be read. The messages of its prompt then stay unread, and the agent rests as
   * after a failure.
   */
  is_unreadable?: boolean
  /** Cost of the model call, if there was one; replaces `cost_usd` and `tokens`. */
  spend?: Spend
}

export interface GoalStrategy {
  name?: string
  /** Strategies of a lower stage are asked first; the built-in existence loop is last. */
  stage?: number
  /**
   * Whether each goal of this strategy is new even when its text repeats an earlier one, such as a queue entry: none is
   * refused as a duplicate.
   */
  no_duplicates?: boolean
  /** Returns the next goal; undefined leaves the decision to the next strategy. */
  generateGoal(context: GoalContext): GeneratedGoal | undefined | Promise<GeneratedGoal | undefined>
}
export const GoalStrategies = point<GoalStrategy & { name: string }>('goal_strategies', {
  key: strategy => strategy.name,
  has: { generateGoal: 'function' },
  asked: 'generateGoal',
  stage: strategy => strategy.stage,
  async ask(strategy, context: GoalContext) {
    const goal = await strategy.generateGoal(context)
    return goal && strategy.no_duplicates ? { ...goal, no_duplicates: true } : goal
  },
})

declare module '#kernel' {
  interface Replaceable {
    /** A replacement without a `goals` service keeps the built-in one. */
    goals: { goals: Goals } | void
  }
  interface Events {
    goal_refused: z.infer<typeof GoalRefused>
    tool_result: z.infer<typeof ToolResult>
    goal_added: z.infer<typeof GoalAdded>
    goal_changed: z.infer<typeof GoalChanged>
    goal_not_accepted: z.infer<typeof GoalNotAccepted>
    goal_declined: z.infer<typeof GoalDeclined>
    plan_updated: z.infer<typeof PlanUpdated>
  }
  interface PluginHandle {
    /** Adds a strategy that finds the next goal of an idle agent. */
    goalStrategy(strategy: GoalStrategy): Undo
  }
}

/** A goal given to an agent. */
export interface NewGoal {
  agent_id: string
  objective: string
  priority: number
  origin: 'operator' | 'subgoal' | 'sub_agent' | 'schedule' | 'delegated'
  parent_goal_id: string | null
  /** Order among the goals of the same commit. */
  place?: number
  /** Criteria that must be met before it counts as reached. */
  acceptance?: readonly Acceptance[] | undefined
}

export interface Goals {
  /** Refuses criteria that can never be met by this agent. @throws CommandError, InvalidInputError, ConflictError */
  refuseUncheckable(acceptance: readonly Acceptance[], agent_id?: string): Promise<void>
  /** Returns the writes that add a goal to an agent; refused when its parent is no longer active. */
  add(goal: NewGoal): { goal_id: string; effects: Effect[] }
  /** @deprecated Use `add`. */
  added?: Goals['add']
  /** Returns the writes that complete an active goal. */
  complete(goal: { goal_id: string; agent_id: string }, result: string): Effect[]
  /** @deprecated Use `complete`. */
  completed?: Goals['complete']
  /** Returns the writes that abandon an active goal and its dependants; refused when it is no longer active. */
  abandon(goal: { goal_id: string; agent_id: string }, reason: string): Promise<Effect[]>
  /** @deprecated Use `abandon`. */
  abandoned?: Goals['abandon']
  /** Returns the active goals of an agent, oldest first. */
  listActive(agent_id: string): Promise<{ goal_id: string; agent_id: string; objective: string }[]>
  /**
   * Describes the goal that an agent pursues, its last ones, and what it remembers of a text, for prompts outside of its
   * goals; undefined where there is nothing. Replacements may leave it out.
   */
  describe?(agent: AgentRow, about: string): Promise<string | undefined>
  /** @deprecated Use `listActive`. */
  active?: Goals['listActive']
}
export const Goals = token<Goals>('goals', {
  refuseUncheckable: 'function',
  add: 'function',
  complete: 'function',
  abandon: 'function',
  listActive: 'function',
})

/** Work that another agent does for a goal, while the goal goes on. */
export interface OpenWork {
  /** Names the work, such as `dlg-1a2b3c4d of coder-7f3a91c2`. */
  what: string
  /**
   * Makes the goal wait until the work has ended. Without it the goal waits if its agent says so, until the agent is
   * woken.
   */
  wait?: Effect
}

/** Knows of work that others do for goals. A goal whose agent only answers with text waits for it. */
export interface OpenWorkSource {
  name: string
  /**
   * SQL condition on a row `g` of `goals`: whether others do work for it, or its agent owes them something, that its first
   * end is refused for. It is read with the goal at each end.
   */
  condition?: string
  open(goal_id: string): Promise<readonly OpenWork[]>
  /** Returns what the agent of the goal owes others, in sentences that say what to do. Its first end is refused for it. */
  owed?(goal_id: string): Promise<readonly string[]>
}
export const OpenWorkSources = point<OpenWorkSource>('open_work', {
  key: source => source.name,
  has: { name: 'text', open: 'function' },
  asked: 'open',
})

/** A message to an agent, other than a nudge. */
export interface PendingMessage {
  /** The sender, as the prompt shows it: `Message from your parent`, `Your alarm`. */
  from: string
  text: string
  /** Whether it is from the operator, whose messages come first. */
  is_operator?: boolean | undefined
  /** Whether it only reports what happened. Summaries do not keep it word for word. */
  is_report?: boolean | undefined
}

/** Unread messages of an agent. `acknowledgements` are written in the commit that records the answer to their prompt. */
export interface UnreadMessages {
  items: readonly PendingMessage[]
  acknowledgements: readonly Effect[]
}

/** Delivers messages to agents, between two steps of a pursuit and before goal generation. */
export interface MessageSource {
  name: string
  /**
   * Maximum number of items per call. Set it if each message wakes the agent in its own commit: a sleeping agent is then
   * not asked about. Without it the source is asked at each heartbeat.
   */
  portion?: number
  /**
   * Returns the agent's unread messages.
   * @param goal_id the goal that the agent pursues; null when it chooses one
   */
  pending(agent_id: string, goal_id?: string | null): Promise<UnreadMessages>
}
export const PendingMessages = point<MessageSource>('pending_messages', {
  key: source => source.name,
  has: { name: 'text', pending: 'function' },
  asked: 'pending',
})

/** @deprecated Use `PendingMessage`. */
export type NewsItem = PendingMessage
/** @deprecated Use `MessageSource`. */
export interface NewsSource extends Omit<MessageSource, 'pending'> {
  news(agent_id: string): Promise<UnreadMessages>
}
/** @deprecated Use `PendingMessages`. */
export const News = point<NewsSource>('news', {
  key: source => source.name,
  has: { name: 'text', news: 'function' },
  asked: 'news',
})

/** What an agent says it achieved, with the goal's objective; its evidence names files relative to its workspace. */
export interface GoalClaim extends Claim, Reach {
  agent_id: string
  goal_id: string
  objective: string
  /** Aborted when the cycle runs out of time. */
  signal: AbortSignal
}

/**
 * Checks what an agent says it achieved before its goal completes. Verifiers are called until one objects. One that
 * throws, or exceeds `daemon.tool_timeout`, does not object.
 */
export interface GoalVerifier {
  name: string
  /** @returns why the goal is not reached, which the agent reads before it continues; undefined where it is */
  verify(claim: GoalClaim): string | undefined | Promise<string | undefined>
}
export const GoalVerifiers = point<GoalVerifier>('goal_verifiers', {
  key: ({ name }) => name,
  has: { name: 'text', verify: 'function' },
})

/** Adds a line to the result of a goal that completes, such as where its files were copied to. */
export interface ResultNote {
  name: string
  /** @returns undefined when there is nothing to add; one that throws adds nothing */
  note(claim: GoalClaim, goal: PursuedGoal): Promise<string | undefined>
}
export const ResultNotes = point<ResultNote>('result_notes', {
  key: ({ name }) => name,
  has: { name: 'text', note: 'function' },
})

/** A section of an agent's prompts, such as its state, identity or environment. */
export interface PromptSection {
  name: string
  /** Lower ones come first. */
  stage: number
  /**
   * `goal_pursuit` is the system prompt, made anew for each cycle; `goal_opening` is the first message of a goal, made
   * once; `goal_state` is a message after it, which later cycles repeat when it has changed. What changes often, or
   * belongs to one goal, stands in a message, so that the provider's prompt cache holds.
   */
  prompts: readonly ('goal_generation' | 'goal_pursuit' | 'goal_opening' | 'goal_state')[]
  /**
   * Part of the agent's inner life that this section shows; a pursuit includes it only if the profile's `inner_life`
   * names it.
   */
  inner?: InnerLife
  /**
   * Returns the section. Text from others in it must be cleaned and fenced.
   * @param known fields of the same prompt that are known by then, such as those of `GoalContextParts`
   * @param goal the goal that begins; only in `goal_opening`
   * @returns undefined when there is nothing to say
   */
  text(agent: AgentRow, profile: Profile, known: Partial<GoalContext>, goal?: GoalRow): Promise<string | undefined>
}
export const PromptSections = point<PromptSection>('prompt_sections', {
  key: ({ name }) => name,
  has: { name: 'text', stage: 'number', prompts: 'list', text: 'function' },
  asked: 'text',
})

/** Fields of `GoalContext` that a module provides; it declares them by merging into that interface. */
export interface GoalContextPart {
  name: string
  part(agent: AgentRow, profile: Profile): Promise<Partial<GoalContext>>
}
export const GoalContextParts = point<GoalContextPart>('goal_context_parts', {
  key: ({ name }) => name,
  has: { name: 'text', part: 'function' },
  asked: 'part',
})

export { ActiveAgent } from '#core/agents/contract'
export { sanitize, sanitizeLine } from '#lib/sanitize'
/** The goal that the running cycle pursues, if any. */
export const ActiveGoal = token<PursuedGoal>('active_goal')
/** The profile of the running cycle's agent. */
export const ActiveProfile = token<Profile>('active_profile')

export const GoalNotFoundError = defineError({
  code: 'goal_not_found',
  status: 404,
  title: 'Goal not found',
  message: (p: { ref: string }) => `There is no goal "${p.ref}"; list those of an agent with: svc goals <agent>`,
})
export const GoalEndedError = defineError({
  code: 'goal_ended',
  status: 409,
  title: 'Goal ended',
  message: (p: { goal_id: string; status: string }) => `Goal ${p.goal_id} is ${p.status} already.`,
})
/** The goal has the maximum number of active subgoals, or is as deep as goals may be. */
export const TooManySubgoalsError = defineError({
  code: 'too_many_subgoals',
  status: 409,
  title: 'Too many subgoals',
  message: (p: { problem: string }) => `${p.problem}.`,
})
