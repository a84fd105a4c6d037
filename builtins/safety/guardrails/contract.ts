import { defineError, point, token, z } from '#kernel'

/**
 * Where text passes. `input`: of tasks and nudges; `peer`: between agents; `output`: an agent's answer to people. The other
 * three are checked only when configured so.
 */
export const STAGES = ['input', 'peer', 'output', 'tool_arguments', 'tool_result', 'memory'] as const
export type Stage = (typeof STAGES)[number]

/** Actions, weakest first: report and pass, replace by `[REDACTED:<kind>]`, block. */
export const ACTIONS = ['flag', 'redact', 'block'] as const
export type Action = (typeof ACTIONS)[number]

/** One thing that a rule found; positions are UTF-16 offsets in the text as given. */
export const Finding = z.object({
  rule: z.string(),
  kind: z.string(),
  start: z.number().int().describe('UTF-16 offset in the text as given'),
  end: z.number().int(),
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
  /** Whether they are on and any rule looks at this stage. */
  watches(stage: Stage): boolean
  /**
   * Checks a string at a stage, and reports what it found as the event `guardrail_hit`. Linear in its length; long
   * strings yield to
   * the event loop. Passes everything while not enabled.
   */
  check(stage: Stage, text: string, whom: { agent_id: string | null }): Promise<CheckedText>
}
export const Guardrails = token<Guardrails>('guardrails')

/**
 * A rule of a plugin or of the configuration: finds spans in a text that was normalised for matching. A text of more than
 * 32,768 characters comes in pieces that overlap by 4,096, and what begins in a piece is taken from it. A span
 * without length is nothing found; it lets the event loop have its turn when a rule takes long.
 */
export interface GuardrailRule {
  name: string
  /** What it looks for, as in `email`; stands in place of what is redacted. */
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

/** What people read in place of an answer that a rule withheld. */
export const WITHHELD = '[This answer was withheld by a guardrail.]'

export const GuardrailBlockedError = defineError({
  code: 'guardrail_blocked',
  status: 422,
  title: 'Guardrail blocked',
  message: (p: { stage: string; kinds: string[] }) =>
    `A guardrail blocked the ${p.stage}: it holds ${p.kinds.join(', ')}.`,
})

export const GuardrailHit = z
  .object({
    agent_id: z.string().nullable(),
    stage: z.enum(STAGES),
    action: z.enum(ACTIONS),
    kinds: z.array(z.string()),
    rules: z.array(z.string()),
  })
  .describe('A guardrail found something; the text itself is left out')

declare module '#kernel' {
  interface Events {
    guardrail_hit: z.infer<typeof GuardrailHit>
  }
}
