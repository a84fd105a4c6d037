import type OpenAI from 'openai'
import type { Ports } from '#kernel'
import { ModelError, type ModelEvent, type ModelProvider, type ModelRequest } from '../contract.ts'
import { dialectOf } from '../parameters/dialects.ts'
import type { Endpoint } from './endpoints.ts'
import { withErrorBody } from './error-body.ts'
import { faultOf } from './faults.ts'
import { capBody, isStream, refuseWebPage, refuseWithoutKey } from './fetch.ts'
import { LazyStream } from './lazy-stream.ts'
import { chunks, type Reporting, refuseReported } from './openai-chunks.ts'
import { ReturnedFields } from './openai-returned.ts'
import {
  Completion,
  callsIn,
  doneEvent,
  reasoningEvents,
  ToolCallAssembly,
  usageEvents,
  wireRequest,
} from './openai-wire.ts'
import { probe } from './probe.ts'
import { cacheHints, cachingServerOf } from './prompt-cache.ts'

/** Effectively no time limit, in milliseconds: the caller sets `model.total_timeout`. */
const NO_TIMEOUT_MS = 2 ** 31 - 1

/** Provider for any server that speaks OpenAI's chat completions, using the `openai` package. */
export function openaiCompatible(endpoint: Endpoint, ports: Pick<Ports, 'fetch' | 'clock' | 'env'>): ModelProvider {
  const { name, base_url, key, free } = endpoint
  const { availability, reach, firstModel, listModels, explainMissing, contextWindow, vision } = probe(endpoint, ports)
  let client: Promise<OpenAI> | undefined
  const dialect = dialectOf(endpoint)
  const cachingServer = cachingServerOf(endpoint)

  const connect = async () => {
    client ??= Promise.all([import('openai'), import('./streaming-fetch.ts')]).then(
      ([{ OpenAI }, { streamingFetch }]) => {
        const ask = streamingFetch(ports.fetch)
        return new OpenAI({
          apiKey: key ?? 'none',
          adminAPIKey: null,
          baseURL: base_url,
          organization: endpoint.organization,
          project: endpoint.project,
          maxRetries: 0,
          timeout: NO_TIMEOUT_MS,
          fetch: async (input, init) => {
            const response = await capBody(ask(input instanceof Request ? input.url : input, init), false)
            return response.ok ? response : withErrorBody(response)
          },
          logLevel: 'off',
        })
      },
    )
    return client
  }
  const id = (model: string) => `${name}:${model}`

  const open = async (request: ModelRequest, signal: AbortSignal) => {
    const { chat } = await connect()
    const usage = request.omit?.has('stream_options') ? {} : { stream_options: { include_usage: true } }
    const hints = cacheHints(request, cachingServer)
    return chat.completions
      .create({ ...wireRequest(request, dialect, hints), stream: true, ...usage }, { signal, headers: hints.headers })
      .asResponse()
  }

  const stream = (request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> => {
    const model = id(request.model)
    const fault = (error: unknown) => faultOf(error, model, endpoint, ports)
    return new LazyStream(async () => {
      refuseWithoutKey(endpoint, model)
      const data = chunks(ports.clock)
      const response = await open(request, signal).catch(async error => {
        throw await withMissing(fault(error), request)
      })
      refuseWebPage(endpoint, model, response)
      if (response.headers.get('content-type')?.includes('application/json')) return readWholeAnswer(response, fault)
      return data.of(response, error => Object.assign(fault(error), { interrupted: true }))
    })
  }

  async function complete(request: ModelRequest, signal: AbortSignal): Promise<ModelEvent[]> {
    const model = id(request.model)
    refuseWithoutKey(endpoint, model)
    try {
      const { chat } = await connect()
      const hints = cacheHints(request, cachingServer)
      const response = await chat.completions
        .create({ ...wireRequest(request, dialect, hints), stream: false }, { signal, headers: hints.headers })
        .asResponse()
      refuseWebPage(endpoint, model, response)
      return isStream(response)
        ? await eventsOfStream(response, ports.clock)
        : eventsOfCompletion(await response.json())
    } catch (error) {
      throw await withMissing(faultOf(error, model, endpoint, ports), request)
    }
  }

  /** Returns the error of an unknown model with the models of the server, and the others unchanged. */
  const withMissing = async (error: ModelError, { model }: ModelRequest): Promise<ModelError> => {
    const found = error.http_status === 404 && !endpoint.needs_key ? await explainMissing(model) : null
    if (!found) return error
    const problem = `${error.problem}; ${found.problem}; ${found.remedy}`
    const { kind, transient, billed, http_status } = error
    return new ModelError({ model: id(model), problem }, { cause: error, kind, transient, billed, http_status })
  }

  const named = endpoint.model
  return {
    name,
    endpoint: base_url,
    free,
    ...(endpoint.free_because ? { free_because: endpoint.free_because } : {}),
    ...(endpoint.larger_window ? { larger_window: endpoint.larger_window } : {}),
    structured: true,
    availability,
    reach,
    // A provider's public URL is only called for answers. Its models are in the catalogue; otherwise a refusal reveals
    // their limits.
    ...(endpoint.needs_key ? {} : { contextWindow, listModels, explainMissing }),
    vision: endpoint.needs_key ? async () => null : vision,
    ...(named ? { defaultModel: async () => named } : endpoint.needs_key ? {} : { defaultModel: firstModel }),
    stream,
    complete,
  }
}

/** Reads a complete answer to a streaming request. Some servers cannot stream, or report errors this way. */
async function* readWholeAnswer(
  response: Response,
  fault: (error: unknown) => ModelError,
): AsyncGenerator<ModelEvent, undefined> {
  try {
    yield* eventsOfCompletion(await response.json())
  } catch (error) {
    throw fault(error)
  }
}

/** Reads a streamed answer to a request for a complete one. Some servers can only stream. */
async function eventsOfStream(response: Response, clock: Ports['clock']): Promise<ModelEvent[]> {
  const events: ModelEvent[] = []
  for await (const event of chunks(clock).of(response, error => error)) events.push(event)
  return events
}

function eventsOfCompletion(raw: unknown): ModelEvent[] {
  refuseReported(raw as Reporting | null)
  const { choices, usage } = Completion.parse(raw)
  const { message, finish_reason } = choices[0]!
  const toolCalls = new ToolCallAssembly()
  toolCalls.add(callsIn(message).map((call, index) => ({ ...call, index })))
  const returned = new ReturnedFields()
  returned.add({ ...message, thinking: message.content?.thinking })
  return [
    ...reasoningEvents(message),
    { type: 'text', text: message.content?.text ?? message.refusal ?? '' },
    ...toolCalls.events(),
    ...returned.events(toolCalls.extras()),
    ...usageEvents(usage),
    doneEvent(finish_reason, Boolean(message.refusal)),
  ]
}
