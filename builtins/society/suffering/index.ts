import { AgentFacets, type AgentRow, ProfileShapes } from '#core/agents/contract'
import { CheckpointParts } from '#core/checkpoints/contract'
import { GoalContextParts, PromptSections } from '#core/goals/contract'
import { definePlugin } from '#kernel'
import { type Cycle, type HasWork, neverHasWork } from '#platform/heartbeat/contract'
import { addRetentionRule } from '#platform/retention/contract'
import { Effects } from '#platform/store/contract'
import { LifeSummaries } from '#society/identity/contract'
import { checkpointPart } from './checkpoint.ts'
import { SufferingConfig, SufferingSettings } from './config.ts'
import { Moods, StressorAdded, StressorEased, Stressors, Suffering } from './contract.ts'
import { lifeSummary } from './life.ts'
import { sufferingOperations } from './operations.ts'
import { innerSections } from './prompt.ts'
import { SUFFERING_EFFECTS } from './repository.ts'
import { agentsWithWork } from './rest.ts'
import { circumplex } from './state/mood.ts'
import { BUILT_IN } from './state/stressors.ts'
import { OwnSuffering, SufferingService } from './suffering-service.ts'

export default definePlugin({
  name: 'suffering',
  description: 'Stressors, persona and mood of agents, and how they change over time.',
  needs: ['store', 'agents', 'profiles', 'goals'],
  section: 'suffering',
  config: SufferingConfig,
  setup(svc, config) {
    const lives = new SufferingService(svc, config)
    const stateOf = (agent: AgentRow) => (config.enabled ? svc.use(Suffering).state(agent) : Promise.resolve(null))
    for (const effect of SUFFERING_EFFECTS) svc.add(Effects, effect.kind)
    for (const stressor of BUILT_IN) svc.add(Stressors, stressor)
    svc.add(Moods, circumplex)
    svc.provide(Suffering, lives)
    svc.provide(SufferingSettings, config)
    svc.provide(OwnSuffering, lives)
    for (const operation of sufferingOperations) svc.operation(operation)
    svc.event('stressor_added', StressorAdded)
    svc.event('stressor_eased', StressorEased)
    addRetentionRule(svc, { name: 'suffering_history', key: 'moment_id', where: 'at < ?' })
    svc.add(CheckpointParts, checkpointPart(svc))

    svc.add(ProfileShapes, { name: svc.name, passing: true, shape: (agent, profile) => lives.shape(agent, profile) })
    for (const section of innerSections(stateOf)) svc.add(PromptSections, section)
    svc.add(GoalContextParts, {
      name: svc.name,
      part: async (agent, { persona }) => ({ suffering: await stateOf(agent), persona }),
    })
    svc.add(AgentFacets, { name: 'persona', read: agent => lives.personaOf(agent) })
    svc.add(AgentFacets, { name: 'suffering', read: stateOf })
    svc.add(LifeSummaries, lifeSummary(svc, stateOf))
    svc.add(AgentFacets, { name: 'mood', read: async agent => (await stateOf(agent))?.mood ?? null })

    const whenEnabled = (work: (cycle: Cycle) => Promise<void> | void) => (cycle: Cycle) =>
      config.enabled ? work(cycle) : undefined
    const hasWork: HasWork = due => (config.enabled ? agentsWithWork(svc, due) : [])
    svc.tap(
      'suffering_escalation',
      { name: svc.name, hasWork },
      whenEnabled(cycle => lives.escalate(cycle)),
    )
    svc.tap(
      'cleanup',
      { name: svc.name, stage: 500, hasWork: neverHasWork },
      whenEnabled(cycle => lives.save(cycle)),
    )
    // Runs after the writes whose events are narrated. Passed waking time alone is not reported.
    svc.tap(
      'cleanup',
      { name: 'write', stage: 2000, hasWork: neverHasWork },
      whenEnabled(cycle => lives.write(cycle)),
    )
    svc.on('cycle_end', cycle => lives.endCycle(cycle))
  },
})
