import type Anthropic from '@anthropic-ai/sdk'
import { errorMessage, type Ports } from '#kernel'
import { MissingDependencyError } from '#lib/errors'
import type { ModelEvent, ModelProvider, ModelRequest } from '../contract.ts'
import { AnthropicStream, anthropicRequest, eventsOfAnswer } from './anthropic-wire.ts'
import type { Endpoint } from './endpoints.ts'
import { faultOf } from './faults.ts'
import { capBody, refuseWebPage, refuseWithoutKey } from './fetch.ts'

const PACKAGE = '@anthropic-ai/sdk'
/** Number of chunks read before yielding to the event loop. */
const BURST = 200

/** Effectively no time limit, in milliseconds: the caller sets `model.total_timeout`. */
const NO_TIMEOUT_MS = 2 ** 31 - 1

/** Loads the optional package. */
export type LoadAnthropic = () => Promise<{ Anthropic: typeof Anthropic }>

/** Provider of Anthropic's models, through Anthropic's own package. */
export function anthropic(
  endpoint: Endpoint,
  ports: Pick<Ports, 'fetch' | 'clock' | 'env'>,
  load: LoadAnthropic = () => import('@anthropic-ai/sdk'),
): ModelProvider {
  const { name, base_url, key, key_env, needs_key } = endpoint
  let client: Promise<Anthropic> | undefined

  const connect = () => {
    client ??= load()
      .catch(error => {
        throw isMissing(error)
          ? new MissingDependencyError({ package: PACKAGE, purpose: 'models of Anthropic' })
          : error
      })
      .then(({ Anthropic }) => {
        return new Anthropic({
          apiKey: key ?? 'none',
          authToken: null,
          webhookKey: null,
          baseURL: base_url,
          maxRetries: 0,
          timeout: NO_TIMEOUT_MS,
          logLevel: 'off',
          fetch: (input, init) => capBody(ports.fetch(input instanceof Request ? input.url : input, init)),
        })
      })
    return client
  }
  const id = (model: string) => `${name}:${model}`

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    const model = id(request.model)
    refuseWithoutKey(endpoint, model)
    const { messages } = await connect()
    const pieces = await messages
      .create({ ...anthropicRequest(request), stream: true }, { signal })
      .withResponse()
      .catch(error => {
        throw faultOf(error, model, endpoint, ports)
      })
    try {
      refuseWebPage(endpoint, model, pieces.response)
      const events = new AnthropicStream()
      let count = 0
      for await (const piece of pieces.data) {
        // An answer may arrive in one burst: yields to the event loop in between.
        if (++count % BURST === 0) await ports.clock.yield()
        yield* events.take(piece)
      }
    } catch (error) {
      throw Object.assign(faultOf(error, model, endpoint, ports), { interrupted: true })
    }
  }

  async function complete(request: ModelRequest, signal: AbortSignal): Promise<ModelEvent[]> {
    const model = id(request.model)
    refuseWithoutKey(endpoint, model)
    const { messages } = await connect()
    try {
      const pending = messages.create({ ...anthropicRequest(request), stream: false }, { signal })
      const answer = await pending.withResponse()
      refuseWebPage(endpoint, model, answer.response)
      return eventsOfAnswer(answer.data)
    } catch (error) {
      throw faultOf(error, model, endpoint, ports)
    }
  }

  return {
    name,
    endpoint: base_url,
    free: endpoint.free,
    ...(endpoint.free_because ? { free_because: endpoint.free_because } : {}),
    async availability() {
      if (needs_key && !key) return { available: false, reason: `${key_env} is not set` }
      const reason = await connect().then(() => null, errorMessage)
      return { available: reason === null, reason }
    },
    // All of its current models see images: https://platform.claude.com/docs/en/about-claude/models/overview
    vision: async () => true,
    ...(endpoint.model ? { defaultModel: async () => endpoint.model! } : {}),
    stream,
    complete,
  }
}

function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
}
