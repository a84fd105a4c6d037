import { defineError, point, token, z } from '#kernel'

/**
 * Stages at which text is checked. `input`: text of tasks and nudges; `peer`: messages between agents; `output`: an
 * agent's answers to people. The other three are checked only if configured.
 */
export const STAGES = ['input', 'peer', 'output', 'tool_arguments', 'tool_result', 'memory'] as const
export type Stage = (typeof STAGES)[number]

/** Actions, weakest first: report and pass, replace by `[REDACTED:<kind>]`, block. */
export const ACTIONS = ['flag', 'redact', 'block'] as const
export type Action = (typeof ACTIONS)[number]

/** One finding of a rule. Positions are UTF-16 offsets in the original text. */
export const Finding = z.object({
  rule: z.string(),
  kind: z.string(),
  start: z.int().describe('UTF-16 offset in the text as given'),
  end: z.int(),
  action: z.enum(ACTIONS),
})
export type Finding = z.infer<typeof Finding>

export interface CheckedText {
  /** The strongest action of all findings; `pass` without any. */
  action: 'pass' | Action
  /** The text to pass on: redacted where a rule requires it, empty when blocked. */
  text: string
  findings: readonly Finding[]
}

export interface Guardrails {
  readonly enabled: boolean
  /** Returns whether guardrails are enabled and at least one rule applies to this stage. */
  watches(stage: Stage): boolean
  /**
   * Checks a string at a stage and reports findings as the event `guardrail_hit`. Takes linear time and yields to the
   * event loop during long strings. Returns the text unchanged while guardrails are disabled.
   * @param whom.again whether the text was checked before: its findings are not reported once more
   */
  check(stage: Stage, text: string, whom: { agent_id: string | null; again?: boolean }): Promise<CheckedText>
}
export const Guardrails = token<Guardrails>('guardrails')

/**
 * A rule of a plugin or of the configuration, which finds spans in normalised text. A text of more than 32,768
 * characters is passed in pieces that overlap by 4,096; a span belongs to the piece in which it begins. An empty span
 * is no finding: a slow rule yields it to let the event loop run.
 */
export interface GuardrailRule {
  name: string
  /** Kind of data that the rule finds, such as `email`; redacted text shows it. */
  kind: string
  stages: readonly Stage[]
  action: Action
  find(text: string): Iterable<{ start: number; end: number }>
}
export const GuardrailRules = point<GuardrailRule>('guardrail_rules', {
  key: rule => rule.name,
  check({ name, kind, stages, action, find }) {
    const known = stages?.length > 0 && stages.every(stage => STAGES.includes(stage)) && ACTIONS.includes(action)
    if (!/^\w{1,64}$/.test(name) || !/^\w{1,64}$/.test(kind) || !known || typeof find !== 'function')
      throw new TypeError(
        `the guardrail rule "${name}" needs a name and a kind in letters, digits and "_", stages (of ${STAGES.join(', ')}), an action (${ACTIONS.join(', ')}) and find()`,
      )
  },
})

/** Shown in place of an answer that a rule blocked. */
export const WITHHELD = '[This answer was withheld by a guardrail.]'

export const GuardrailBlockedError = defineError({
  code: 'guardrail_blocked',
  status: 422,
  title: 'Guardrail blocked',
  message: (p: { stage: string; kinds: string[] }) =>
    `A guardrail blocked the ${p.stage}: it contains ${p.kinds.join(', ')}.`,
})

export const GuardrailHit = z
  .object({
    agent_id: z.string().nullable(),
    stage: z.enum(STAGES),
    action: z.enum(ACTIONS),
    kinds: z.array(z.string()),
    rules: z.array(z.string()),
  })
  .describe('A guardrail matched a text; the event does not contain the text')

declare module '#kernel' {
  interface Events {
    guardrail_hit: z.infer<typeof GuardrailHit>
  }
}
