import { defineError, point, token, z } from '#kernel'

/** A kind of work, known by words and tools: a linear classifier adds up the weights of those that occur. */
export interface TaskType {
  name: string
  /**
   * Weights by word prefixes of the objective, in lower case: `analy` matches analyse and analysis. Each counts once, or
   * twice where it begins the objective.
   */
  words: Readonly<Record<string, number>>
  /** Weights by names of called tools. Each counts once. */
  tools: Readonly<Record<string, number>>
}
/** Kind of work that an agent must not do on its own work. */
export const REVIEW = 'review'

const Weights = z.record(z.string(), z.number())
export const TaskTypes = point<TaskType>('task_types', {
  key: type => type.name,
  shape: z.object({
    name: z.string().regex(/^[a-z][a-z0-9_]{0,31}$/, 'must begin with a letter and contain only a-z, 0-9 and "_"'),
    words: Weights,
    tools: Weights,
  }),
})

/** An agent's results in one kind of work. */
export const TaskTypeRecord = z.object({
  task_type: z.string().meta({ examples: ['coding'] }),
  goals: z.int(),
  completed: z.int(),
  rate: z.number().describe('Share of its goals of this type that the agent completed, 0 to 1'),
  mean_duration_ms: z.int().describe('Mean time from the beginning of a goal to its end, in milliseconds'),
})
export type TaskTypeRecord = z.infer<typeof TaskTypeRecord>

/** An agent's strengths, computed from its last 200 goals. */
export const Specialization = z
  .object({
    agent_id: z.string().meta({ examples: ['coder-1a2b3c4d'] }),
    goals: z.int(),
    score: z.number().describe('Specialization, 0 to 1: how much the results differ between kinds of work'),
    strengths: z.array(z.string()).describe('Kinds of work in which the agent completes at least half of its goals'),
    types: z.array(TaskTypeRecord),
  })
  .meta({ id: 'Specialization' })
export type Specialization = z.infer<typeof Specialization>

export const SwarmRecommendation = z.object({
  kind: z.enum(['routing', 'knowledge', 'specialization']),
  priority: z.int().describe('Priority; higher matters more'),
  agent_id: z.string().nullable(),
  task_type: z.string().nullable(),
  text: z.string(),
})
export type SwarmRecommendation = z.infer<typeof SwarmRecommendation>

export const SwarmPattern = z.object({
  kind: z.enum(['shared_capability', 'specialization_emerging']),
  task_type: z.string().nullable(),
  agents: z.array(z.string()),
})

const Figures = z.object({
  success_rate: z.number().nullable().describe('Share of ended goals that were completed; null when none has ended'),
  completed: z.int(),
  abandoned: z.int(),
  patterns: z.int(),
  mean_specialization: z.number(),
})

/** Findings from the last 50 goals of each live agent. */
export const SwarmLearning = z.object({
  agents: z.int(),
  active_goals: z.int(),
  figures: Figures,
  deltas: Figures.extend({ success_rate: z.number().nullable() }).describe('Change since the previous report'),
  patterns: z.array(SwarmPattern),
  recommendations: z.array(SwarmRecommendation),
})
export type SwarmLearning = z.infer<typeof SwarmLearning>

export const EFFECT_KINDS = ['hint', 'memory', 'route', 'rest'] as const
/** An action taken by a report. */
export const SwarmEffect = z
  .object({
    effect_id: z.string().meta({ examples: ['swr-15-1'] }),
    report_id: z.string(),
    kind: z
      .enum(EFFECT_KINDS)
      .describe(
        "`hint`: shown in the agent's prompts; `memory`: stored as a memory of what worked for another agent; `route`: best_peer prefers the agent for this kind of work; `rest`: best_peer skips the agent",
      ),
    topic: z.string().describe('Subject of the effect: a kind of work, a goal, or the recommendation'),
    agent_id: z.string().describe('Agent to which the effect applies'),
    text: z.string(),
    status: z
      .enum(['planned', 'in_force', 'ended', 'reverting', 'reverted', 'lifted'])
      .describe(
        '`ended`: its reason no longer applies; `lifted`: it was reverted, and may be applied again if its reason returns',
      ),
    created_at: z.iso.datetime(),
    ended_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'SwarmEffect' })
export type SwarmEffect = z.infer<typeof SwarmEffect>

export const SwarmReport = SwarmLearning.extend({
  report_id: z.string().meta({ examples: ['swr-15'] }),
  beat: z.int().describe('Heartbeat at which the report was made'),
  policy: z.string(),
  effects: z.array(SwarmEffect).describe('Effects of the report'),
  created_at: z.iso.datetime(),
  reverted_at: z.iso.datetime().nullable(),
}).meta({ id: 'SwarmReport' })
export type SwarmReport = z.infer<typeof SwarmReport>

/** Input of a policy. */
export interface SwarmSituation {
  learned: SwarmLearning
  specializations: readonly Specialization[]
  /** Returns the best agent for a kind of work, and the last such goal that it completed. */
  best(task_type: string): { agent_id: string; goal_id: string; objective: string; result: string } | undefined
}

/** An action that a policy requests; it ends when no longer requested. Kind, topic and agent identify an action. */
export interface SwarmAction {
  kind: SwarmEffect['kind']
  agent_id: string
  topic: string
  /** Text shown to the agent for a hint or memory; otherwise text for people. */
  text: string
}

/** Decides which actions follow from the findings. Must be deterministic. */
export interface SwarmPolicy {
  name: string
  act(situation: SwarmSituation): SwarmAction[]
}
export const SwarmPolicies = point<SwarmPolicy>('swarm_policies', {
  key: policy => policy.name,
  has: { name: 'text', act: 'function' },
})

/** An agent that may receive a task. */
export const RouteCandidate = z.object({
  agent_id: z.string(),
  task_type: z.string(),
  score: z.number(),
  goals: z.int().describe('Number of ended goals of this kind'),
  active_goals: z.int(),
  preferred: z.boolean().describe('Whether a current `route` prefers the agent'),
})
export type RouteCandidate = z.infer<typeof RouteCandidate>

/** Finds the agents that are best at a task. */
export interface Specialists {
  /** Whether tasks may be routed to the best agents, because a policy acts on findings. */
  readonly acting: boolean
  /**
   * Returns agents that could take a task, best first.
   * @param except the agent that gives the task
   */
  candidates(task: string, except: string | null): Promise<RouteCandidate[]>
}
export const Specialists = token<Specialists>('specialists')

export const SwarmLearned = z
  .object({
    report_id: z.string(),
    beat: z.int(),
    success_rate: z.number().nullable(),
    recommendations: z.int(),
  })
  .describe('A swarm report was made from the results of all agents')
export const SwarmReverted = z.object({ report_id: z.string() }).describe('The effects of a swarm report were reverted')

declare module '#kernel' {
  interface Events {
    swarm_learned: z.infer<typeof SwarmLearned>
    swarm_reverted: z.infer<typeof SwarmReverted>
  }
}

export const SwarmReportNotFoundError = defineError({
  code: 'swarm_report_not_found',
  status: 404,
  title: 'Swarm report not found',
  message: (p: { report_id: string }) =>
    `There is no report "${p.report_id}", or it is so old that it was removed; list them with: svc swarm reports`,
})
