import type { AgentRow } from '#core/agents/contract'
import type { Profile } from '#core/profiles/contract'
import type { ToolSet } from '#core/runtime/contract'
import { token } from '#kernel'

/** Describes an agent's environment for prompts. */
export interface Environment {
  /**
   * Returns the parts in order: the project's instructions, the environment, then the workspace; empty ones are left
   * out.
   * @param tools the agent's tools: what none of them reaches is not described
   */
  parts(agent: AgentRow, profile: Profile, tools: Pick<ToolSet, 'find'>): Promise<string[]>
}
export const Environment = token<Environment>('environment')
