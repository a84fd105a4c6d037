import { definePlugin } from '#kernel'
import { currentService } from '#lib/current-service'
import { DoctorChecks } from '#lib/doctor-check'
import { withEarlierNames } from '#lib/earlier-names'
import { Metrics } from '#lib/metric'
import { recordInput } from '#lib/recording-context'
import { DaemonStatusParts } from '#platform/daemon/contract'
import { ConfigChecks } from '#platform/settings/contract'
import { Effects, Store } from '#platform/store/contract'
import { Caller } from './call/caller.ts'
import { Governors } from './call/governors.ts'
import { modelMetrics } from './call/metrics.ts'
import { CATALOGUE, factsOf, tiersOf } from './catalogue/catalogue.ts'
import { modelsInUse } from './catalogue/in-use.ts'
import { merge, projectCatalogue } from './catalogue/models-file.ts'
import { DefaultModel, resolveName, type Target } from './catalogue/names.ts'
import { modelsFileCheck, namesCheck, problemSentence, windowsFinding } from './checks.ts'
import { ModelConfig, RetryConfig } from './config.ts'
import { readSummary, summaryRequest } from './context/summary.ts'
import {
  ContextCompacted,
  ContextRefused,
  type MeasuredCall,
  ModelCaller,
  ModelFailover,
  ModelProviders,
  Models,
  ModelUsers,
  recordedQuestion,
} from './contract.ts'
import { LearnedModels, OwnLearned } from './learned/learned-models.ts'
import { modelsForget } from './learned/operations.ts'
import { forgetLearned, keepLearned, listLearned } from './learned/repository.ts'
import { ModelsView, modelsList } from './operations.ts'
import { anthropic } from './providers/anthropic.ts'
import { anthropicEndpoint, endpoints, realModelRemedy } from './providers/endpoints.ts'
import { openaiCompatible } from './providers/openai.ts'
import { simulate } from './sim/provider.ts'
import { timeLimitsCheck, warnOfTimeLimits } from './time-limits.ts'

export default definePlugin({
  name: 'models',
  description: 'Model providers, their prices, and all model calls.',
  section: 'model',
  config: ModelConfig,
  setup(svc) {
    svc.provide(Models, currentService(svc, ModelCaller))
  },
  base(svc, config) {
    const { ports } = svc
    const retries = svc.section('daemon', RetryConfig)
    const catalogue = projectCatalogue(merge(CATALOGUE, tiersOf(config.providers)), svc)
    const providers = () => svc.list(ModelProviders)
    const governors = new Governors(svc, config)
    const defaultModel = new DefaultModel(svc, config.default_model)
    const resolve = async (name: string | null, asks = true): Promise<Target> => {
      const wanted = name?.trim() || (await defaultModel.name())
      const listed = await catalogue()
      const named = await resolveName(wanted, providers(), listed, asks)
      const tool_calls = listed.tool_calls[named.id] ?? config.providers[named.provider.name]?.tool_calls
      return { ...named, facts: factsOf(listed, named, config), tool_calls }
    }
    const governorOf = (provider: string) => governors.of(provider)
    const learned = new LearnedModels(svc)
    const caller = new Caller(svc, { config, retries, resolve, governorOf, learned })

    const compatible = endpoints(ports.env, config)
    const ofAnthropic = anthropicEndpoint(ports.env, config)
    for (const endpoint of compatible) svc.add(ModelProviders, openaiCompatible(endpoint, ports))
    svc.add(ModelProviders, anthropic(ofAnthropic, ports))
    const remedy = realModelRemedy([ofAnthropic, ...compatible], ports.env)
    svc.add(ModelProviders, { ...simulate(ports, config), remedy })
    svc.add(ConfigChecks, namesCheck(svc))
    svc.add(ConfigChecks, modelsFileCheck(svc))
    svc.add(ConfigChecks, timeLimitsCheck)
    svc.add(DoctorChecks, { name: 'context_window', run: () => windowsFinding(svc, caller.promptProblems()) })
    svc.add(DaemonStatusParts, {
      name: 'models',
      read: async () => ({ problems: caller.promptProblems().map(problemSentence) }),
    })
    for (const event of ['agent_died', 'agent_deleted'] as const)
      svc.on(event, ({ agent_id }) => caller.forgetPrompts(agent_id))
    svc.start(() => warnOfTimeLimits(svc), { in: ['daemon', 'server'] })
    svc.start(() => defaultModel.keep(), { in: ['daemon'] })

    const inUse = () => modelsInUse(svc, resolve)
    const current = currentService(svc, Models)
    const describe = async (name: string | null, asks = true) => (await resolve(name, asks)).facts
    svc.add(ModelUsers, {
      name: 'configuration',
      // Where no model is configured for choosing goals or writing summaries, the agents' own models do it.
      models: async () => [null, ...[config.planning_model, config.summary_model].filter(Boolean)],
    })
    svc.provide(ModelCaller, {
      resolve,
      describe,
      inUse,
      measure: call => caller.measure(call),
      runningCall: agent_id => caller.runningCall(agent_id),
      findWindowProblem: (name, agent_id) => caller.findWindowProblem(name, agent_id),
      summaries: withEarlierNames(
        {
          findDue: (call: MeasuredCall, keeps?: number) => caller.summaryDue(call, keeps),
          request: summaryRequest,
          read: readSummary,
        },
        { due: 'findDue' },
      ),
      call: call =>
        recordInput(
          'model',
          () => caller.call(call),
          () => recordedQuestion(call),
        ),
    })
    const unknownPrice = () =>
      Number(svc.config.get('daemon.budget_usd') ?? 0) > 0
        ? (svc.config.get('daemon.budget_unknown_price') as 'refuse' | 'approve')
        : null
    const resolveDefault = () => current.resolve(null)
    const now = () => svc.clock.ms()
    const learnedModels = async () => (svc.has(Store) ? listLearned(svc.use(Store)) : [])
    const view = {
      providers,
      catalogue,
      governorOf,
      resolveDefault,
      inUse: () => current.inUse(),
      unknownPrice,
      learned: learnedModels,
      now,
    }
    svc.provide(ModelsView, view)
    svc.provide(OwnLearned, learned)
    for (const operation of [modelsList, modelsForget]) svc.operation(operation)
    for (const effect of [keepLearned, forgetLearned]) svc.add(Effects, effect.kind)
    svc.event('model_failover', ModelFailover)
    svc.event('context_compacted', ContextCompacted)
    svc.event('context_refused', ContextRefused)
    for (const metric of modelMetrics(() => governors.all())) svc.add(Metrics, metric)
  },
})
