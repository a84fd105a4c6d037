import type { PluginHandle } from '#kernel'
import { getValue, Store, setValue } from '#platform/store/contract'
import { type ModelFacts, ModelNameError, type ModelProvider, type ToolCalls } from '../contract.ts'
import { type Catalogue, type NamedModel, TIERS, type Tier } from './catalogue.ts'

/** A model that is to be called, and what is known of it. */
export interface Target extends NamedModel {
  facts: ModelFacts
  /** How it is configured to call tools; undefined leaves that to its provider. */
  tool_calls: ToolCalls | undefined
}

/**
 * Resolves a name: `provider:model`, `provider:tier`, a provider alone, bare `gpt-*` and `o1`-like names of OpenAI,
 * bare `claude-*` of Anthropic and `accounts/fireworks/*` of Fireworks, or `sim/rules-1`.
 * @throws ModelNameError listing the providers; ModelError when the provider's server had to be asked for its model and
 * gave none
 * @param asks whether a server may be asked for its model
 */
export async function resolveName(
  name: string,
  providers: readonly ModelProvider[],
  catalogue: Catalogue,
  asks = true,
): Promise<NamedModel> {
  const unknown = () =>
    new ModelNameError({ name: name.slice(0, 100), known: providers.map(provider => provider.name) })
  const [providerName, model] = split(name)
  const provider = providers.find(each => each.name === providerName)
  if (!provider) throw unknown()
  const named = await modelOf(provider, model, catalogue, asks)
  if (!named) throw unknown()
  // The simulation's name has another form, so that it is not mistaken for a provider's model.
  const id = provider.name === 'sim' ? `sim/${named}` : `${provider.name}:${named}`
  return { id, provider, model: named }
}

/** Returns the provider that a name refers to, even if it does not exist; undefined when it refers to none. */
export function providerIn(name: string): string | undefined {
  return split(name)[0]
}

function split(written: string): [provider: string | undefined, model: string] {
  const name = written.trim()
  if (name.length > 200 || /[\s\p{Cc}]/u.test(name)) return [undefined, name]
  if (name === 'sim/rules-1') return ['sim', 'rules-1']
  const colon = name.indexOf(':')
  if (colon >= 0) {
    const model = name.slice(colon + 1)
    return [model === '' ? undefined : name.slice(0, colon), model]
  }
  if (/^(gpt-|o\d)/.test(name)) return ['openai', name]
  if (/^accounts\/fireworks\//.test(name)) return ['fireworks', name]
  if (/^claude-/.test(name)) return ['anthropic', name]
  return [name, '']
}

async function modelOf(
  provider: ModelProvider,
  model: string,
  catalogue: Catalogue,
  asks: boolean,
): Promise<string | undefined> {
  const tiers = catalogue.tiers[provider.name]
  if (isTier(model)) return tiers ? tiers[model] : provider.defaultModel?.(asks)
  if (model) return model
  return provider.defaultModel ? provider.defaultModel(asks) : tiers?.standard
}

function isTier(model: string): model is Tier {
  return TIERS.some(tier => tier === model)
}

/** Where the default model is stored that the environment set last. */
const ROW = { namespace: 'models', key: 'default_model' }

/**
 * The model of agents that name none. A later start often lacks the variables of an earlier one, and the simulation must
 * not go on with the work of a real model: the project keeps the model that its environment set last, and agents wait
 * until it can be called again.
 */
export class DefaultModel {
  readonly #svc: PluginHandle
  readonly #configured: string
  #kept: Promise<string | undefined> | undefined

  /** @param configured `model.default_model` */
  constructor(svc: PluginHandle, configured: string) {
    this.#svc = svc
    this.#configured = configured
  }

  async name(): Promise<string> {
    return this.#configured || this.#ofOpenAi || (await this.#read()) || 'sim'
  }

  /** Stores what the environment sets. */
  async keep(): Promise<void> {
    if (!this.#svc.has(Store)) return
    const value = this.#svc.ports.env.SVC_DEFAULT_MODEL?.trim() || (this.#configured ? '' : this.#ofOpenAi)
    if (value && value !== (await this.#read())) await this.#svc.use(Store).apply([setValue({ ...ROW, value })])
  }

  /** OpenAI's default model, if its key or address is set; otherwise empty. */
  get #ofOpenAi(): string {
    const { env } = this.#svc.ports
    return env.OPENAI_API_KEY?.trim() || env.OPENAI_BASE_URL?.trim() ? 'openai' : ''
  }

  async #read(): Promise<string | undefined> {
    if (!this.#svc.has(Store)) return undefined
    this.#kept ??= getValue(this.#svc.use(Store), ROW)
      .then(value => (typeof value === 'string' ? value : undefined))
      .catch(error => {
        this.#kept = undefined
        throw error
      })
    return this.#kept
  }
}
