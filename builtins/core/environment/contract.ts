import type { AgentRow } from '#core/agents/contract'
import type { Profile } from '#core/profiles/contract'
import { token } from '#kernel'

/** What prompts say of the place that an agent works in. */
export interface Environment {
  /** The parts in order: what the project says of itself, then the environment; those without content are left out. */
  parts(agent: AgentRow, profile: Profile): Promise<string[]>
}
export const Environment = token<Environment>('environment')
