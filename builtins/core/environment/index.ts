import { type PromptSection, PromptSections } from '#core/goals/contract'
import type { Profile } from '#core/profiles/contract'
import { Runtime } from '#core/runtime/contract'
import { definePlugin } from '#kernel'
import { environmentText, othersText, workspaceText } from './block.ts'
import { Environment } from './contract.ts'
import { instructionsText } from './instructions.ts'

/**
 * Stage after all parts that change less often, so that a change here invalidates as little of the provider's cache as
 * possible.
 */
const LAST = 1_000

export default definePlugin({
  name: 'environment',
  description: "Adds date, machine, an agent's folders and the project's instructions to prompts.",
  needs: ['agents', 'runtime', 'sandbox'],
  setup(svc) {
    const toolsOf = (profile: Profile) => svc.use(Runtime).toolsFor(profile)
    const sections: PromptSection[] = [
      {
        name: 'project',
        stage: LAST,
        prompts: ['goal_generation', 'goal_pursuit'],
        text: agent => instructionsText(svc, agent),
      },
      {
        name: 'environment',
        stage: LAST + 1,
        prompts: ['goal_generation', 'goal_pursuit'],
        text: (agent, profile) => environmentText(svc, agent, profile, toolsOf(profile)),
      },
      {
        // Prompts for a goal show other agents with what they do.
        name: 'others',
        stage: LAST + 2,
        prompts: ['goal_pursuit'],
        text: agent => othersText(svc, agent),
      },
      {
        name: 'workspace',
        stage: LAST + 3,
        prompts: ['goal_generation', 'goal_opening'],
        text: (agent, profile, _, goal) => workspaceText(svc, agent, toolsOf(profile), goal && 'When this goal began:'),
      },
    ]
    for (const section of sections) svc.add(PromptSections, section)
    svc.provide(Environment, {
      async parts(agent, profile, tools) {
        const parts = [
          await instructionsText(svc, agent),
          await environmentText(svc, agent, profile, tools),
          await othersText(svc, agent),
        ]
        return parts.filter(part => part !== undefined)
      },
      workspace: (agent, tools) => workspaceText(svc, agent, tools),
    })
  },
})
