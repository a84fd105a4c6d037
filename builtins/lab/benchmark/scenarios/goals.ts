import type { z } from '#kernel'
import type { Scenario } from '../contract.ts'

/** Scenario whose score is the share of cycles that produced an accepted goal. */
export const goals: z.input<typeof Scenario> = {
  name: 'goals',
  title: 'Goals of its own',
  measures: 'Whether it finds, cycle after cycle, something to do that is well-formed and no repetition',
  mode: 'goals',
  role: 'Keeper of a small library who looks after its catalogue and its readers',
  toolkits: ['file'],
}
