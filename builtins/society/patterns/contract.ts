import { defineError, point, z } from '#kernel'
import type { A2AMessage, MessageType } from '#society/a2a/contract'

export const PATTERN_ENDS = ['completed', 'declined', 'timed_out', 'over_budget', 'cancelled'] as const

/** Budget of a run, or its spending: model calls of agents while they owe the run an answer. */
const Budget = z.object({ usd: z.number().nullable(), tokens: z.number().int().nullable() })

/** One run of a collaboration pattern. */
export const PatternRun = z
  .object({
    pattern_id: z.string().meta({ examples: ['pat-1a2b3c4d'] }),
    name: z.string().meta({ examples: ['review'] }),
    initiator: z.string().describe('The agent on whose behalf it runs'),
    participants: z.array(z.string()),
    task: z.string().describe('What it is about'),
    rounds: z.number().int().describe('Maximum number of rounds'),
    budget: Budget.describe('null where nothing limits'),
    spent: z.object({ usd: z.number(), tokens: z.number().int() }).describe('By agents that owed it an answer'),
    status: z.enum(['running', ...PATTERN_ENDS]),
    messages: z.number().int().describe('Sent so far'),
    result: z.record(z.string(), z.unknown()).nullable().describe('As the pattern says; partial when it was cut short'),
    created_at: z.iso.datetime(),
    deadline: z.iso.datetime().describe('When it ends in any case'),
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
        `the pattern "${name}" needs a name in a-z, 0-9, "_", "-", participants, rounds, next() and partial()`,
      )
  },
})

const PatternFields = z.object({ agent_id: z.string(), pattern_id: z.string(), name: z.string() })
export const PatternStarted = PatternFields.describe(
  'Agents began to work together by a pattern; `agent_id` is who leads it',
)
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
    `There is no pattern "${p.name}"; there are: ${p.known.join(', ')}.`,
})
export const PatternRunNotFoundError = defineError({
  code: 'pattern_run_not_found',
  status: 404,
  title: 'Pattern run not found',
  message: (p: { pattern_id: string }) =>
    `No pattern runs or ran as "${p.pattern_id}"; list them with: svc patterns runs`,
})
export const PatternParticipantsError = defineError({
  code: 'pattern_participants',
  status: 422,
  title: 'Pattern participants',
  message: (p: { name: string; min: number; max: number; problem: string }) =>
    `The pattern "${p.name}" takes ${p.min === p.max ? p.min : `${p.min} to ${p.max}`} participants beside its initiator, each once; ${p.problem}.`,
})
export const TooManyPatternsError = defineError({
  code: 'too_many_patterns',
  status: 409,
  title: 'Too many patterns',
  message: (p: { limit: number }) =>
    `${p.limit} patterns of this agent run already (patterns.max_running); let one end first.`,
})
