import { z } from '#kernel'
import { tool } from '#tools/toolkits/contract'
import { FINISH_GOAL } from '../contract.ts'

export const Finish = z.object({
  reached: z
    .boolean()
    .default(true)
    .describe('Whether the goal was reached; with false you give it up, and the summary must say why'),
  summary: z.string().min(1).describe('What was achieved, or the result itself where only this text is read'),
  evidence: z
    .array(z.string())
    .default([])
    .describe('Where the result can be seen: file names, message ids, or commands that you ran, in backticks'),
})
export type Finish = z.infer<typeof Finish>

/** Tool by which an agent finishes its goal or gives it up. The loop ends with the turn that calls it. */
export const finishGoal = tool({
  name: FINISH_GOAL,
  description:
    'Call this only when the goal is finished. Say what was achieved and where the evidence is; the evidence is checked. If the goal cannot be reached, or if you should not pursue it, set reached to false.',
  parameters: Finish,
  idempotent: true,
  execute: () => 'The goal is recorded as completed.',
})
