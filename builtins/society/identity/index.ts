import { AgentFacets } from '#core/agents/contract'
import { CheckpointParts } from '#core/checkpoints/contract'
import { GoalContextParts, PromptSections } from '#core/goals/contract'
import { definePlugin } from '#kernel'
import { type Cycle, type HasWork, idsOf } from '#platform/heartbeat/contract'
import { Effects, Store } from '#platform/store/contract'
import { checkpointPart } from './checkpoint.ts'
import { Identity } from './contract.ts'
import { Identities } from './identities.ts'
import { Journals, OwnJournals } from './journals.ts'
import { identityOperations } from './operations.ts'
import { identitySection } from './prompt.ts'
import { agentsWithNewEvents, IDENTITY_EFFECTS } from './repository.ts'
import { identityToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'identity',
  description: "An agent's name, story, opinions and questions, and their history.",
  needs: ['store', 'agents', 'profiles', 'goals'],
  setup(svc) {
    const identities = new Identities(svc)
    svc.provide(Identity, identities)
    svc.add(CheckpointParts, checkpointPart(identities))
    // Runs at the end of `cleanup`, after the writes whose events are narrated.
    const hasWork: HasWork = due => agentsWithNewEvents(svc.use(Store), idsOf(due))
    svc.tap('cleanup', { name: svc.name, stage: 2000, hasWork }, (cycle: Cycle) => identities.narrate(cycle))
  },
  base(svc) {
    for (const effect of IDENTITY_EFFECTS) svc.add(Effects, effect.kind)
    svc.provide(OwnJournals, new Journals(svc))
    for (const operation of identityOperations) svc.operation(operation)
    svc.toolkit(identityToolkit(svc))

    svc.add(AgentFacets, { name: 'identity', read: agent => svc.use(Identity).of(agent) })
    svc.add(
      PromptSections,
      identitySection(agent => svc.use(Identity).of(agent, 'beat')),
    )
    svc.add(GoalContextParts, {
      name: svc.name,
      part: async agent => ({ identity: await svc.use(Identity).of(agent, 'beat') }),
    })
  },
})
