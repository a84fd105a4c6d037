import type { AgentRow } from '#core/agents/contract'
import type { Profile } from '#core/profiles/contract'
import type { ToolSet } from '#core/runtime/contract'
import { token } from '#kernel'

/** Describes an agent's environment for prompts. */
export interface Environment {
  /**
   * Returns the parts of a system prompt in order: the project's instructions, then the environment; empty ones are
   * left out.
   * @param tools the agent's tools: what none of them reaches is not described
   */
  parts(agent: AgentRow, profile: Profile, tools: Pick<ToolSet, 'names'>): Promise<string[]>
  /**
   * Returns the state of the workspace, for a message: the agent's own work changes it, which would take the whole
   * conversation out of the provider's prompt cache. Undefined for an agent without a given folder.
   */
  workspace(agent: AgentRow, tools: Pick<ToolSet, 'names'>): Promise<string | undefined>
}
export const Environment = token<Environment>('environment')
