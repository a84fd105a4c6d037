import { type PromptSection, PromptSections } from '#core/goals/contract'
import { definePlugin, errorMessage } from '#kernel'
import { ConfigChecks } from '#lib/config-check'
import { recordInput } from '#lib/recording-context'
import { catalogueText, skillsFor, skillWarnings } from './catalogue.ts'
import { Skills } from './contract.ts'
import { skillOperations } from './operations.ts'
import { settleProposals } from './proposals.ts'
import { OwnSkillFiles, SkillFiles } from './skill-files.ts'
import { skillsToolkit } from './toolkit.ts'

/** Position in the prompt: after the agent's own parts, before those of the project. */
const STAGE = 990

export default definePlugin({
  name: 'skills',
  description:
    'Skills in the Agent Skills format: prompts contain one line for each, and agents load them when they need them.',
  needs: ['agents', 'profiles', 'sandbox'],
  setup(svc) {
    const files = new SkillFiles(svc)
    const warn = skillWarnings(svc, files)
    const catalogue: Skills['catalogue'] = async (agent, profile) => {
      if (profile.skills.length === 0) return undefined
      const text = await recordInput(`skills of ${agent.agent_id}`, async () => {
        const found = await skillsFor(files, agent, profile)
        await warn(profile, found)
        return catalogueText(found) ?? null
      })
      return text ?? undefined
    }
    const section: PromptSection = {
      // A goal is chosen without tools, so no skill can be loaded there.
      name: 'skills',
      stage: STAGE,
      prompts: ['goal_pursuit'],
      text: catalogue,
    }
    svc.add(PromptSections, section)
    svc.provide(OwnSkillFiles, files)
    svc.provide(Skills, { catalogue })
    svc.toolkit(skillsToolkit(svc, files))
    for (const operation of skillOperations) svc.operation(operation)
    svc.add(ConfigChecks, {
      name: 'skills',
      forbids: 'nothing',
      check: async () =>
        (await files.list()).flatMap(({ file, error }) => (error ? [{ path: file, message: error }] : [])),
    })
    const settle = () =>
      settleProposals(svc).catch(error => svc.log.warn({}, `cannot process drafts of skills: ${errorMessage(error)}`))
    svc.on('question_answered', settle)
    svc.on('beat', settle)
  },
})
