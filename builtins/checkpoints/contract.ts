import { type Effect, point, type z } from '#kernel'

/** What a room keeps of an agent, as far as a checkpoint holds it. */
export interface CheckpointPart<T = unknown> {
  /** The key under which it stands in a checkpoint, as in `suffering`. */
  name: string
  schema: z.ZodType<T>
  /** undefined when the agent has none */
  capture(agent_id: string): Promise<T | undefined>
  /** The writes that bring the agent back to this, or to having none: captured again, it is the same. */
  restore(agent_id: string, value: T | undefined): Promise<readonly Effect[]>
}
export const CheckpointParts = point<CheckpointPart>('checkpoint_parts', { key: ({ name }) => name })
