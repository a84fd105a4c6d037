import { AgentFacets, DeleteHooks } from '#core/agents/contract'
import { BundleParts, CheckpointParts } from '#core/checkpoints/contract'
import { GoalContextParts, PendingMessages, PromptSections } from '#core/goals/contract'
import { definePlugin } from '#kernel'
import { DaemonStarts } from '#platform/daemon/contract'
import { Effects, Store } from '#platform/store/contract'
import { LifeSummaries, NarrativeSources } from '#society/identity/contract'
import { Stressors } from '#society/suffering/contract'
import { worldBundle, worldCheckpoint } from './checkpoint.ts'
import { CitizenActions } from './citizen-actions.ts'
import { CITIZEN_EFFECTS } from './citizens.ts'
import { EconomyConfig, EconomySettings } from './config.ts'
import { LifeEventHappened, World, WorldChanged } from './contract.ts'
import { logErrors, runBeat, sweep } from './economy-beat.ts'
import { LifeCatalogue } from './life/catalogue.ts'
import { LifeChoices } from './life/choices.ts'
import { freeEvents, LIFE_EFFECTS } from './life/repository.ts'
import { worldStressors } from './life/stressors.ts'
import { LEDGER_EFFECTS } from './market/ledger.ts'
import { MARKET_EFFECTS } from './market/market.ts'
import { orderMessages } from './market/pending-messages.ts'
import { economyOperations } from './operations.ts'
import { economyForgets } from './retention.ts'
import { LIVES_EFFECTS, lifeSummary, writeLife, writeLives } from './views/lives.ts'
import { worldFacet, worldPart, worldSections } from './views/sections.ts'

export default definePlugin({
  name: 'economy',
  description: 'A simulated world for agents with money, jobs, skills, a market and events.',
  needs: ['store', 'agents', 'models', 'profiles', 'goals'],
  section: 'economy',
  config: EconomyConfig,
  setup(svc, config) {
    const actions = new CitizenActions(svc, config)
    const catalogue = new LifeCatalogue(svc)
    for (const effect of [...LEDGER_EFFECTS, ...CITIZEN_EFFECTS, ...MARKET_EFFECTS, ...LIFE_EFFECTS, ...LIVES_EFFECTS])
      svc.add(Effects, effect.kind)
    svc.provide(EconomySettings, config)
    for (const operation of economyOperations) svc.operation(operation)
    svc.event('life_event', LifeEventHappened)
    svc.event('world_changed', WorldChanged)
    svc.provide(World, actions)
    economyForgets(svc)
    for (const stressor of worldStressors(svc, config)) svc.add(Stressors, stressor)
    if (!config.enabled) return

    for (const section of worldSections(svc, config)) svc.add(PromptSections, section)
    svc.add(GoalContextParts, worldPart(svc, config))
    svc.add(AgentFacets, worldFacet(svc))
    svc.add(CheckpointParts, worldCheckpoint(svc))
    svc.add(BundleParts, worldBundle(svc))
    svc.add(PendingMessages, orderMessages(svc))
    svc.add(NarrativeSources, { event: 'life_event', line: data => String(data.summary) })
    svc.add(LifeSummaries, lifeSummary(svc))
    svc.add(DeleteHooks, { name: 'economy', part: agent => writeLife(svc, agent) })

    // A stop cancels requests to models; the next start sends them again.
    let choices = new LifeChoices(svc, config, catalogue)
    svc.on('beat', ({ beat }) =>
      logErrors(svc, async () => {
        await runBeat(svc, config, catalogue, beat)
        await sweep(svc, config, beat)
        await choices.remember()
        await choices.ask()
        await writeLives(svc, 'dead')
      }),
    )
    svc.on('agent_deleted', () => logErrors(svc, () => sweep(svc, config)))
    const begin = async (alone: boolean) => {
      choices = new LifeChoices(svc, config, catalogue)
      if (alone) await svc.use(Store).apply([freeEvents({})])
      return async () => {
        await choices.stop()
        if (alone) await writeLives(svc, 'all')
      }
    }
    svc.add(DaemonStarts, { name: 'economy', begin: () => begin(true), join: () => begin(false) })
    svc.start(() => () => choices.stop(), { in: ['daemon', 'server', 'mcp', 'cli'] })
  },
})
