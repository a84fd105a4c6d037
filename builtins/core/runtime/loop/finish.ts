import { z } from '#kernel'
import { tool } from '#tools/toolkits/contract'
import { FINISH_GOAL } from '../contract.ts'

export const Finish = z.object({
  reached: z.boolean().default(true).describe('false gives the goal up honestly; the summary says why'),
  summary: z.string().min(1).describe('What was achieved, in one or two sentences'),
  evidence: z
    .array(z.string())
    .default([])
    .describe('Where it can be seen: file names, message ids, commands that you ran in backticks'),
})
export type Finish = z.infer<typeof Finish>

/** Tool by which an agent finishes its goal or gives it up. The loop ends with the turn that calls it. */
export const finishGoal = tool({
  name: FINISH_GOAL,
  description:
    'Call this when the goal is finished, and only then. Say what was achieved and where the evidence is, which is checked. A goal that cannot be reached, or that you should not pursue: reached false.',
  parameters: Finish,
  idempotent: true,
  execute: () => 'The goal is recorded as completed.',
})
