import { definePlugin, type PluginHandle, taken } from '#kernel'
import { Metrics } from '../metrics/contract.ts'
import { Caller } from './caller.ts'
import { CATALOGUE, tiersOf } from './catalogue.ts'
import { ModelConfig, RetryConfig } from './config.ts'
import { askedIn, ModelFailover, ModelProviders, Models } from './contract.ts'
import { Governors } from './governors.ts'
import { modelMetrics } from './metrics.ts'
import { merge, projectCatalogue } from './models-file.ts'
import { resolveName, type Target } from './names.ts'
import { modelsList } from './operations.ts'
import { anthropic } from './providers/anthropic.ts'
import { anthropicEndpoint, endpoints } from './providers/endpoints.ts'
import { openaiCompatible } from './providers/openai.ts'
import { simulated } from './sim/provider.ts'

export default definePlugin({
  name: 'models',
  description: 'Model providers, their prices, and the one way to call them.',
  section: 'model',
  config: ModelConfig,
  setup(svc, config) {
    const { ports } = svc
    const retries = svc.section('daemon', RetryConfig)
    const catalogue = projectCatalogue(merge(CATALOGUE, tiersOf(config.providers)), svc)
    const providers = () => svc.list(ModelProviders)
    const governors = new Governors(svc, config)
    const resolve = async (name: string | null): Promise<Target> => {
      return resolveName(name?.trim() || config.default_model || embeddedDefault(svc), providers(), await catalogue())
    }
    const governorOf = (provider: string) => governors.of(provider)
    const caller = new Caller(svc, { config, retries, catalogue, resolve, governorOf })

    for (const endpoint of endpoints(ports.env, config)) svc.add(ModelProviders, openaiCompatible(endpoint, ports))
    svc.add(ModelProviders, anthropic(anthropicEndpoint(ports.env, config), ports))
    svc.add(ModelProviders, simulated(ports, config))

    svc.provide(Models, {
      resolve,
      call: call =>
        taken(
          'model',
          () => caller.call(call),
          () => askedIn(call),
        ),
    })
    svc.operation(modelsList({ providers, catalogue, governorOf, resolveDefault: () => resolve(null) }))
    svc.event('model_failover', ModelFailover)
    for (const metric of modelMetrics(() => governors.all())) svc.add(Metrics, metric)
  },
})

/** What is used when nobody named a model. A configured provider that fails is never replaced by the simulation. */
function embeddedDefault({ ports: { env } }: PluginHandle): string {
  return env.OPENAI_API_KEY?.trim() || env.OPENAI_BASE_URL?.trim() ? 'openai' : 'sim'
}
