import { type Ports, sentenceOf, within, z } from '#kernel'
import { ModelError } from './contract.ts'
import type { Endpoint } from './endpoints.ts'
import { capBody } from './fetch.ts'

const PROBE_LIMIT_MS = 2_000
const REMEMBERED_MS = 30_000

const ModelList = z.object({ data: z.array(z.object({ id: z.string().min(1) })) })

type Found = { models: string[]; reason: null } | { models: null; reason: string }

/** Asks a server which models it has, at most every 30 s; a provider's public address with a key is taken on trust. */
export function probe(endpoint: Endpoint, ports: Pick<Ports, 'fetch' | 'clock'>) {
  const { clock } = ports
  const { name, base_url, key, key_env, needs_key } = endpoint
  let asked: { at: number; found: Promise<Found> } | undefined

  const ask = async (): Promise<Found> => {
    const abort = new AbortController()
    try {
      const headers = { ...(key ? { authorization: `Bearer ${key}` } : {}) }
      const answer = capBody(ports.fetch(`${base_url}/models`, { headers, signal: abort.signal })).then(
        async response => {
          if (!response.ok) throw new Error(`it answered HTTP ${response.status}`)
          return ModelList.safeParse(await response.json().catch(() => undefined)).data
        },
      )
      const list = await within(clock, PROBE_LIMIT_MS, 'GET /models', answer)
      if (!list)
        return { models: null, reason: `${base_url}/models is no OpenAI-compatible list of models; check ${variable}` }
      return { models: list.data.map(({ id }) => id), reason: null }
    } catch (error) {
      const why = sentenceOf(error).replace(/\.$/, '')
      return { models: null, reason: `${base_url} is not reachable (${why}); start the server or set ${variable}` }
    } finally {
      abort.abort()
    }
  }
  const variable = `${name.toUpperCase()}_BASE_URL`
  const remembered = () => {
    if (!asked || clock.monotonic() - asked.at > REMEMBERED_MS) asked = { at: clock.monotonic(), found: ask() }
    return asked.found
  }

  return {
    async availability(): Promise<{ available: boolean; reason: string | null }> {
      if (needs_key)
        return key ? { available: true, reason: null } : { available: false, reason: `${key_env} is not set` }
      const { reason } = await remembered()
      return { available: reason === null, reason }
    },
    /** What the server serves, never empty. @throws ModelError */
    async models(): Promise<string[]> {
      const { models, reason } = await remembered()
      if (models?.length) return models
      asked = undefined
      const problem = reason ?? `${base_url} serves no model; load one, or name it as ${name}:<model>`
      throw Object.assign(new ModelError({ model: name, problem }), { billed: false })
    },
  }
}
