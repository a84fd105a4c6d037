import { definePlugin, type PluginHandle, z } from '#kernel'
import { anthropic } from './anthropic.ts'
import { callModel } from './call.ts'
import { priceOf } from './catalogue.ts'
import { type CallLimit, CallLimits, type ModelCall, ModelProviders, Models, type Spend } from './contract.ts'
import { endpoints } from './endpoints.ts'
import { projectCatalogue } from './models-file.ts'
import { resolveName, type Target } from './names.ts'
import { openaiCompatible } from './openai-compatible.ts'
import { modelsList } from './operations.ts'
import { simulated } from './sim/provider.ts'
import { boundOf, pricedOf } from './spend.ts'

const ModelConfig = z.object({
  default_model: z
    .string()
    .max(200)
    .default('')
    .meta({ env: 'SVC_DEFAULT_MODEL' })
    .describe(
      "The model of agents that name none; empty takes OpenAI's when its key or base URL is set, else sim/rules-1",
    ),
  idle_timeout: z.number().positive().default(30).describe('Seconds without a chunk after which a stream has stalled'),
  total_timeout: z.number().positive().default(240).describe('Seconds that one call may take, with all its retries'),
  retry_delay: z.number().min(0).default(0.5).describe('Seconds before the first retry; doubled with each'),
  retry_cap: z.number().min(0).default(60).describe('The longest wait in seconds, whatever Retry-After asks for'),
  sim_delay: z.number().min(0).max(60).default(0.4).describe('Seconds that an answer of the simulated model takes'),
})

const RetryConfig = z.object({
  max_retries: z
    .number()
    .int()
    .min(0)
    .default(2)
    .meta({ reload: 'restart_required', env: 'SVC_MAX_RETRIES' })
    .describe('How often a failed model call is tried again'),
})

export default definePlugin({
  name: 'models',
  description: 'Model providers, their prices, and the one way to call them.',
  section: 'model',
  config: ModelConfig,
  setup(svc, config) {
    const daemon = svc.section('daemon', RetryConfig)
    const catalogue = projectCatalogue(svc.ports.files, svc.project.root)
    const providers = () => svc.list(ModelProviders)
    const resolve = async (name: string | null): Promise<Target> => {
      return resolveName(name?.trim() || config.default_model || embeddedDefault(svc), providers(), await catalogue())
    }

    for (const endpoint of endpoints(svc.ports.env)) svc.add(ModelProviders, openaiCompatible(endpoint, svc.ports))
    svc.add(ModelProviders, anthropic)
    svc.add(ModelProviders, simulated(svc.ports, config))

    svc.provide(Models, {
      resolve,
      async call(call) {
        const target = await resolve(call.model)
        const price = target.provider.free ? 'free' : priceOf(await catalogue(), target.id)
        const { max_retries } = daemon
        const call_id = svc.ports.ids.make('call', 12)
        const { purpose } = call
        const limits = svc.list(CallLimits)
        const planned = {
          call_id,
          model: target.id,
          purpose,
          priced: pricedOf(price),
          bound: () => boundOf(call, price),
        }
        const admit = async () => {
          for (const limit of limits) await limit.hold(planned)
        }
        const { ports, log } = svc
        const calling = callModel(call, target, { ...config, max_retries, ports, log, call_id, price, admit })
        return settled(call, call_id, limits, calling)
      },
    })
    svc.operation(modelsList({ providers, catalogue, resolveDefault: () => resolve(null) }))
  },
})

/** Tells the limits how a call ended, on every way out. */
async function settled<A extends { spend: Spend }>(
  { purpose }: ModelCall,
  call_id: string,
  limits: readonly CallLimit[],
  calling: Promise<A>,
): Promise<A> {
  const settle = async (spend: Spend | null, answered: boolean) => {
    for (const limit of limits) await limit.settle({ call_id, purpose, spend, answered })
  }
  const answer = await calling.catch(async error => {
    await settle((error as { spend?: Spend | null }).spend ?? null, false)
    throw error
  })
  await settle(answer.spend, true)
  return answer
}

/** What is used when nobody named a model. A configured provider that fails is never replaced by the simulation. */
function embeddedDefault({ ports: { env } }: PluginHandle): string {
  return env.OPENAI_API_KEY?.trim() || env.OPENAI_BASE_URL?.trim() ? 'openai' : 'sim'
}
