import { errorMessage, type Ports, withTimeLimit, z } from '#kernel'
import { ModelError, type ModelProblem } from '../contract.ts'
import { type Endpoint, pathRemedy } from './endpoints.ts'
import { causeCode } from './faults.ts'
import { capBody } from './fetch.ts'
import { isLoading } from './refusals.ts'

const PROBE_LIMIT_MS = 2_000
const REMEMBERED_MS = 30_000

const Tokens = z.int().min(256).optional().catch(undefined)
/** `max_model_len` is vLLM's, `context_length` OpenRouter's, `max_context_length` Mistral's. */
const ModelList = z.object({
  data: z.array(
    z.object({ id: z.string().min(1), max_model_len: Tokens, context_length: Tokens, max_context_length: Tokens }),
  ),
})
type Listed = z.infer<typeof ModelList>['data'][number]

/** Loaded models that Ollama reports: https://github.com/ollama/ollama/blob/main/docs/api.md */
const RunningModels = z.object({
  models: z.array(z.object({ name: z.string(), context_length: Tokens })),
})
/** Models that LM Studio reports: https://lmstudio.ai/docs/developer/rest/endpoints */
const StudioModels = z.object({ data: z.array(z.object({ id: z.string(), loaded_context_length: Tokens })) })
/** Properties that llama-server reports: https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md */
const Props = z.object({
  default_generation_settings: z.object({ n_ctx: Tokens }).optional(),
  modalities: z.object({ vision: z.boolean() }).optional().catch(undefined),
})
/**
 * Details that Ollama reports about one model:
 * https://github.com/ollama/ollama/blob/main/docs/api.md#show-model-information
 */
const ShownModel = z.object({ capabilities: z.array(z.string()) })

/** Statuses of servers without a model list; their completions may still work. */
const NO_LIST = [404, 405, 501]

type Found =
  | { available: true; models: Listed[]; reason: null }
  | { available: boolean; models: null; reason: string; isLoading?: true }

/** Maximum number of models that a message names. */
const NAMED_MOST = 8

/** Returns a model's name as Ollama lists it: a name without a tag gets the tag `latest`. */
function withTag(model: string): string {
  return `${model}:latest`
}

function listSome(names: readonly string[]): string {
  const more = names.length - NAMED_MOST
  return `${names.slice(0, NAMED_MOST).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** Queries the models of a server at most every 30 s. A provider's public URL with a key is assumed to be available. */
export function probe(endpoint: Endpoint, ports: Pick<Ports, 'fetch' | 'clock'>) {
  const { clock } = ports
  const { name, base_url, base_url_from, key, key_env, needs_key, start } = endpoint
  let last: { at: number; found: Promise<Found> } | undefined

  const ask = async (): Promise<Found> => {
    const abort = new AbortController()
    try {
      const { streamingFetch } = await import('./streaming-fetch.ts')
      const get = streamingFetch(ports.fetch)
      const headers = { ...(key ? { authorization: `Bearer ${key}` } : {}) }
      const answer = capBody(get(`${base_url}/models`, { headers, signal: abort.signal })).then(async response => {
        const { ok, status } = response
        if (needs_key && (status === 401 || status === 403)) return { refused: status }
        if (NO_LIST.includes(status)) return { missing: status }
        if (isLoading(status, ok ? '' : await response.text())) return { loading: true }
        if (!ok) throw new Error(`it answered HTTP ${status}`)
        return ModelList.safeParse(await response.json().catch(() => undefined)).data
      })
      const list = await withTimeLimit(clock, PROBE_LIMIT_MS, 'GET /models', answer)
      const none = (available: boolean, reason: string) => ({ available, models: null, reason })
      if (!list)
        return none(
          false,
          `${base_url}/models did not return an OpenAI-compatible list of models; check ${base_url_from}${pathRemedy(endpoint)}`,
        )
      if ('loading' in list) {
        last = undefined
        return {
          ...none(false, `${base_url} is loading its model; it can be called when it has loaded it`),
          isLoading: true,
        }
      }
      if ('refused' in list) return none(false, `${base_url} refuses the key in ${key_env} (HTTP ${list.refused})`)
      if ('missing' in list) {
        const silent = `${base_url} does not list its models (HTTP ${list.missing})`
        const unnamed = endpoint.model === undefined ? `name a model as ${name}:<model>, and ` : ''
        return none(true, `${silent}; ${unnamed}check ${base_url_from} if its calls fail${pathRemedy(endpoint)}`)
      }
      return { available: true, models: list.data, reason: null }
    } catch (error) {
      const why = causeCode(error) ?? errorMessage(error).replace(/\.$/, '')
      const remedy = start
        ? `start it with "${start}"`
        : needs_key
          ? 'check the network connection'
          : 'start the server'
      return {
        available: false,
        models: null,
        reason: `${base_url} is not reachable (${why}); ${remedy} or set ${base_url_from}`,
      }
    } finally {
      abort.abort()
    }
  }
  /** The model that the server listed first when it last answered. */
  let first: string | undefined
  const cachedProbe = () => {
    if (!last || clock.monotonic() - last.at > REMEMBERED_MS) last = { at: clock.monotonic(), found: ask() }
    return last.found
  }

  const availability = async (asks: boolean): Promise<{ available: boolean; reason: string | null }> => {
    if (needs_key && !key) return { available: false, reason: `${key_env} is not set` }
    if (!asks) return { available: true, reason: null }
    const { available, reason } = await cachedProbe()
    return { available, reason }
  }

  /** Requests JSON from a path outside `/v1`; undefined if the server has no such path. */
  const beside = async (path: string, init: RequestInit = {}): Promise<unknown> => {
    const abort = new AbortController()
    try {
      const { streamingFetch } = await import('./streaming-fetch.ts')
      const get = streamingFetch(ports.fetch)
      const url = `${base_url.replace(/\/v1$/, '')}${path}`
      const answer = capBody(get(url, { ...init, signal: abort.signal })).then(response =>
        response.ok ? response.json() : undefined,
      )
      return await withTimeLimit(clock, PROBE_LIMIT_MS, path, answer)
    } catch {
      return undefined
    } finally {
      abort.abort()
    }
  }

  const windowReaders: readonly { of: string; read: (model: string) => Promise<number | undefined> }[] = [
    {
      of: 'llamacpp',
      read: async () => Props.safeParse(await beside('/props')).data?.default_generation_settings?.n_ctx,
    },
    {
      of: 'lmstudio',
      read: async model => {
        const listed = StudioModels.safeParse(await beside('/api/v0/models')).data?.data
        return listed?.find(({ id }) => id === model)?.loaded_context_length
      },
    },
    {
      of: 'ollama',
      read: async model => {
        const running = RunningModels.safeParse(await beside('/api/ps')).data?.models
        return running?.find(each => [model, withTag(model)].includes(each.name))?.context_length
      },
    },
  ]

  return {
    /** Returns the context window of a model on this server, in tokens; null if unknown. */
    async contextWindow(model: string): Promise<number | null> {
      if (name !== 'ollama' && name !== 'lmstudio') {
        const { available, models } = await cachedProbe()
        const listed = models?.find(({ id }) => id === model)
        const window = listed?.max_model_len ?? listed?.context_length ?? listed?.max_context_length
        if (window !== undefined || needs_key || !available) return window ?? null
      }
      // A server of another name, such as `openai`, may be any of these.
      const [only] = windowReaders.filter(reader => reader.of === name)
      for (const { read } of only ? [only] : windowReaders) {
        const window = await read(model)
        if (window !== undefined) return window
      }
      return null
    },
    /** Returns whether a model accepts images; null if unknown. */
    async vision(model: string): Promise<boolean | null> {
      if (name !== 'ollama') return Props.safeParse(await beside('/props')).data?.modalities?.vision ?? null
      const init = { method: 'POST', body: JSON.stringify({ model }), headers: { 'content-type': 'application/json' } }
      return ShownModel.safeParse(await beside('/api/show', init)).data?.capabilities.includes('vision') ?? null
    },
    /** Returns the models that the server lists; null if it lists none. */
    async listModels(): Promise<string[] | null> {
      return (await cachedProbe()).models?.map(({ id }) => id) ?? null
    },
    /** Returns why a model cannot be called although the server answers; null if it can, or if that is unknown. */
    async explainMissing(model: string): Promise<ModelProblem | null> {
      const { models } = await cachedProbe()
      // llama-server serves the model that it was started with under any name.
      if (!models || name === 'llamacpp') return null
      const ids = models.map(({ id }) => id)
      if (ids.includes(model) || ids.includes(withTag(model))) return null
      const others = ids.length > 0 ? `it has ${listSome(ids)}` : 'it has no model'
      return {
        problem: `${base_url} does not list the model ${model}; ${others}`,
        remedy: name === 'ollama' ? `get it with: ollama pull ${model}` : 'load it there',
      }
    },
    availability: () => availability(!needs_key),
    reach: () => availability(true),
    /**
     * Returns the first model of the server.
     * @param asks whether to ask the server; otherwise undefined until it was asked
     * @throws ModelError
     */
    async firstModel(asks = true): Promise<string | undefined> {
      if (!asks) return first
      const found = await cachedProbe()
      if (found.models?.length) {
        first = found.models[0]!.id
        return first
      }
      last = undefined
      const problem = found.reason ?? `${base_url} serves no model; load one, or name it as ${name}:<model>`
      const kind = 'isLoading' in found ? 'loading' : 'unreachable'
      throw new ModelError({ model: name, problem }, { kind, billed: false })
    },
  }
}
