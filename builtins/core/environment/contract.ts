import type { AgentRow } from '#core/agents/contract'
import type { Profile } from '#core/profiles/contract'
import { token } from '#kernel'

/** Describes an agent's environment for prompts. */
export interface Environment {
  /** Returns the parts in order: the project's instructions, the environment, then the workspace; empty ones are left out. */
  parts(agent: AgentRow, profile: Profile): Promise<string[]>
}
export const Environment = token<Environment>('environment')
