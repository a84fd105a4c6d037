import { defineError, point, z } from '#kernel'
import { pluralize } from '#lib/pluralize'
import type { A2AMessage, MessageType } from '#society/a2a/contract'

export const PATTERN_ENDS = ['completed', 'declined', 'timed_out', 'over_budget', 'cancelled'] as const

/** Budget of a run, or its spending: model calls of agents while they owe the run an answer. */
const Budget = z.object({ usd: z.number().nullable(), tokens: z.int().nullable() })

/** One run of a collaboration pattern. */
export const PatternRun = z
  .object({
    pattern_id: z.string().meta({ examples: ['pat-1a2b3c4d'] }),
    name: z.string().meta({ examples: ['review'] }),
    initiator: z.string().describe('Agent on whose behalf the pattern runs'),
    participants: z.array(z.string()),
    task: z.string().describe('The work, question, claim or task that the pattern is about'),
    rounds: z.int().describe('Maximum number of rounds'),
    budget: Budget.describe('Budget of the run; null means no limit'),
    spent: z
      .object({ usd: z.number(), tokens: z.int() })
      .describe('Cost of the model calls that agents made while they owed the run an answer'),
    status: z.enum(['running', ...PATTERN_ENDS]),
    messages: z.int().describe('Number of messages sent so far'),
    waits_for: z.array(z.string()).describe('Agents that have not answered yet, while it runs'),
    result: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe('Result, in the format of the pattern; partial when the run ended early'),
    created_at: z.iso.datetime(),
    deadline: z.iso.datetime().describe('Time at which the run ends at the latest'),
    ended_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'PatternRun' })
export type PatternRun = z.infer<typeof PatternRun>

/** Input of a pattern: its participants and the messages so far. */
export interface PatternState {
  initiator: string
  participants: readonly string[]
  task: string
  rounds: number
  /** All messages of this run, oldest first. */
  messages: readonly A2AMessage[]
  /**
   * Returns the answer to a step, once there is one. An agent that is not alive, or that did not answer within
   * `patterns.answer_timeout`, counts as having rejected it, with the reason.
   */
  answerTo(step: string): A2AMessage | undefined
}

/** One message that a pattern sends. */
export interface Step {
  /**
   * Name of the step within the run, such as `review-2`. A step is sent only once, even if the pattern requests it
   * again.
   */
  step: string
  type: MessageType
  from: string
  to: string
  subject: string
  body: string
}

/** Next move of a pattern. */
export type Move =
  /** Sends the steps that were not sent yet, and waits for answers. */
  | { send: readonly Step[] }
  /** Ends the run. */
  | { end: (typeof PATTERN_ENDS)[number]; result: Record<string, unknown> }

/**
 * A collaboration pattern: a stateless, deterministic function from the messages so far to the next move. Called after
 * each message of the run, in any process.
 */
export interface CollaborationPattern {
  name: string
  summary: string
  /** Number of participants besides the initiator. */
  participants: { min: number; max: number }
  /** Default and maximum number of rounds. */
  rounds: { usual: number; max: number }
  next(state: PatternState): Move
  /** Returns the partial result when the run ends early. */
  partial(state: PatternState): Record<string, unknown>
}
export const CollaborationPatterns = point<CollaborationPattern>('collaboration_patterns', {
  key: pattern => pattern.name,
  check({ name, next, partial, participants, rounds }) {
    const whole =
      typeof next === 'function' && typeof partial === 'function' && participants?.min >= 1 && rounds?.max >= 1
    if (!/^[a-z][a-z0-9_-]{0,63}$/.test(name) || !whole)
      throw new TypeError(
        `the pattern "${name}" needs a name of a-z, 0-9, "_" and "-", and also participants, rounds, next() and partial()`,
      )
  },
})

const PatternFields = z.object({ agent_id: z.string(), pattern_id: z.string(), name: z.string() })
export const PatternStarted = PatternFields.describe('A collaboration pattern has started; `agent_id` is its initiator')
export const PatternEnded = PatternFields.extend({ status: z.enum(PATTERN_ENDS) }).describe(
  'A collaboration pattern has ended',
)

declare module '#kernel' {
  interface Events {
    pattern_started: z.infer<typeof PatternStarted>
    pattern_ended: z.infer<typeof PatternEnded>
  }
}

export const PatternNotFoundError = defineError({
  code: 'pattern_not_found',
  status: 404,
  title: 'Pattern not found',
  message: (p: { name: string; known: string[] }) =>
    `There is no pattern "${p.name}"; the available patterns are: ${p.known.join(', ')}.`,
})
/** No pattern run has this id, or the agent that asks takes no part in it; list them with: svc patterns runs */
export const PatternRunNotFoundError = defineError({
  code: 'pattern_run_not_found',
  status: 404,
  title: 'Pattern run not found',
  message: (p: { pattern_id: string; asker?: string | undefined }) =>
    p.asker === undefined
      ? `There is no pattern run "${p.pattern_id}"; list them with: svc patterns runs`
      : `You take part in no pattern run "${p.pattern_id}"; start_pattern returned the ids of yours.`,
})
export const PatternParticipantsError = defineError({
  code: 'pattern_participants',
  status: 422,
  title: 'Wrong number of participants',
  message: (p: { name: string; min: number; max: number; problem: string }) =>
    `The pattern "${p.name}" takes ${p.min === p.max ? p.min : `${p.min} to ${p.max}`} ${p.max === 1 ? 'participant' : 'participants'} besides its initiator, each named once; ${p.problem}.`,
})
export const TooManyPatternsError = defineError({
  code: 'too_many_patterns',
  status: 409,
  title: 'Too many patterns',
  message: (p: { limit: number }) =>
    `The initiator already runs ${pluralize(p.limit, 'pattern')} (patterns.max_running); wait until one ends.`,
})
