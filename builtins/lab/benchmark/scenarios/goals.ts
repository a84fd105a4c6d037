import type { z } from '#kernel'
import type { Scenario } from '../contract.ts'

/** Scenario whose score is the share of cycles that produced an accepted goal. */
export const goals: z.input<typeof Scenario> = {
  name: 'goals',
  title: 'Self-chosen goals',
  measures: 'Whether the model finds, in each cycle, a goal that is well-formed and not a repetition',
  mode: 'goals',
  role: 'Keeper of a small library who looks after its catalogue and its readers',
  toolkits: ['file'],
}
