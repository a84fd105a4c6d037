import { defineError, point, token } from '#kernel'

/**
 * Where text passes. `input`: of tasks and nudges; `peer`: between agents; `output`: an agent's answer to people. The other
 * three are checked only when configured so.
 */
export const STAGES = ['input', 'peer', 'output', 'tool_arguments', 'tool_result', 'memory'] as const
export type Stage = (typeof STAGES)[number]

export type Action = 'flag' | 'redact' | 'block'

/** One thing that a rule found; positions are UTF-16 offsets in the text as given. */
export interface Finding {
  rule: string
  kind: string
  start: number
  end: number
  action: Action
}

export interface Checked {
  /** The strongest action of all findings; `pass` without any. */
  action: 'pass' | Action
  /** What may go on: redacted where a rule says so; empty when it is blocked. */
  text: string
  findings: readonly Finding[]
}

export interface Guardrails {
  readonly enabled: boolean
  /** Checks a text at a stage. Linear in its length; long texts yield to the event loop. Passes everything while not enabled. */
  check(stage: Stage, text: string, whom: { agent_id: string | null }): Promise<Checked>
}
export const Guardrails = token<Guardrails>('guardrails')

/** A rule of a plugin or of the configuration: finds spans in a text that was normalised for matching. */
export interface GuardrailRule {
  name: string
  /** What it looks for, as in `email`; stands in place of what is redacted. */
  kind: string
  stages: readonly Stage[]
  action: Action
  find(text: string): Iterable<{ start: number; end: number }>
}
export const GuardrailRules = point<GuardrailRule>('guardrail_rules', { key: rule => rule.name })

/** What people read in place of an answer that a rule withheld. */
export const WITHHELD = '[This answer was withheld by a guardrail.]'

export const GuardrailBlockedError = defineError({
  code: 'guardrail_blocked',
  status: 422,
  title: 'Guardrail blocked',
  sentence: (p: { stage: string; kinds: string[] }) =>
    `A guardrail blocked the ${p.stage}: it holds ${p.kinds.join(', ')}.`,
})

declare module '#kernel' {
  interface Events {
    guardrail_hit: { agent_id: string | null; stage: string; action: string; kinds: string[] }
  }
}
