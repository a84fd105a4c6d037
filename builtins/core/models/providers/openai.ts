import type OpenAI from 'openai'
import type { Ports } from '#kernel'
import { ModelError, type ModelEvent, type ModelProvider, type ModelRequest } from '../contract.ts'
import { dialectOf } from '../parameters/dialects.ts'
import { REASONING_MODEL } from '../parameters/openai.ts'
import type { Endpoint } from './endpoints.ts'
import { withErrorBody } from './error-body.ts'
import { faultOf } from './faults.ts'
import { capBody, isStream, refuseWebPage, refuseWithoutKey } from './fetch.ts'
import { LazyStream } from './lazy-stream.ts'
import { chunks, eventsOfCompletion } from './openai-answer.ts'
import { wireRequest } from './openai-wire.ts'
import { probe } from './probe.ts'
import { cacheHints, cachingServerOf } from './prompt-cache.ts'
import { CHAT_COMPLETIONS, RESPONSES } from './refusals.ts'
import { eventsOfResponse, responseStream } from './responses-answer.ts'
import { responsesRequest } from './responses-request.ts'
import type { EventData } from './sse.ts'

/** Effectively no time limit, in milliseconds: the caller sets `model.total_timeout`. */
const NO_TIMEOUT_MS = 2 ** 31 - 1

/** Hosts of OpenAI, such as `eu.api.openai.com`. */
const OPENAI_HOST = /(^|\.)api\.openai\.com$/

/**
 * Returns whether a request uses OpenAI's Responses API instead of chat completions: for OpenAI's reasoning models, which
 * there keep their reasoning between the steps of a turn, and for models that accept tools only there.
 */
export function usesResponses({ base_url }: { base_url: string }, { model, omit }: ModelRequest): boolean {
  if (omit?.has(RESPONSES)) return false
  const isOpenAI = OPENAI_HOST.test(URL.canParse(base_url) ? new URL(base_url).hostname : '')
  return omit?.has(CHAT_COMPLETIONS) || (isOpenAI && REASONING_MODEL.test(model))
}

/** Provider for any server that speaks OpenAI's chat completions or Responses API, using the `openai` package. */
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
  const send = async (
    request: ModelRequest,
    format: AnswerFormat,
    stream: boolean,
    signal: AbortSignal,
  ): Promise<Response> => {
    const { chat, responses } = await connect()
    const hints = cacheHints(request, cachingServer)
    const options = { signal, headers: hints.headers }
    if (format === RESPONSE) {
      return responses.create({ ...responsesRequest(request, hints), stream }, options).asResponse()
    }
    const usage = stream && !request.omit?.has('stream_options') ? { stream_options: { include_usage: true } } : {}
    return chat.completions.create({ ...wireRequest(request, dialect, hints), stream, ...usage }, options).asResponse()
  }

  const stream = (request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> => {
    const model = `${name}:${request.model}`
    const fault = (error: unknown) => faultOf(error, model, endpoint, ports)
    const format = usesResponses(endpoint, request) ? RESPONSE : COMPLETION
    return new LazyStream(async () => {
      refuseWithoutKey(endpoint, model)
      const data = format.reader(ports.clock)
      const response = await send(request, format, true, signal).catch(async error => {
        throw await explained(fault(error), request)
      })
      refuseWebPage(endpoint, model, response)
      const isWhole = response.headers.get('content-type')?.includes('application/json')
      if (isWhole) return readWholeAnswer(response, format, fault)
      return data.of(response, error => Object.assign(fault(error), { interrupted: true }))
    })
  }

  async function complete(request: ModelRequest, signal: AbortSignal): Promise<ModelEvent[]> {
    const model = `${name}:${request.model}`
    refuseWithoutKey(endpoint, model)
    const format = usesResponses(endpoint, request) ? RESPONSE : COMPLETION
    try {
      const response = await send(request, format, false, signal)
      refuseWebPage(endpoint, model, response)
      return isStream(response)
        ? await readStream(response, format.reader(ports.clock))
        : format.eventsOf(await response.json())
    } catch (error) {
      throw await explained(faultOf(error, model, endpoint, ports), request)
    }
  }

  /** Returns the error of an unknown model with the models of the server, and that of an unknown API as its refusal. */
  const explained = async (error: ModelError, request: ModelRequest): Promise<ModelError> => {
    const { http_status, transient, billed } = error
    const model = `${name}:${request.model}`
    const isUnknownApi = (http_status === 404 || http_status === 405) && !/\bmodel\b/i.test(error.problem)
    if (isUnknownApi && usesResponses(endpoint, request)) {
      const facts = { kind: 'unsupported_parameter' as const, parameter: RESPONSES, transient, billed, http_status }
      return new ModelError({ model, problem: error.problem }, { cause: error, ...facts })
    }
    const found = http_status === 404 && !endpoint.needs_key ? await explainMissing(request.model) : null
    if (!found) return error
    const problem = `${error.problem}; ${found.problem}; ${found.remedy}`
    return new ModelError({ model, problem }, { cause: error, kind: error.kind, transient, billed, http_status })
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

/** How the answers of one API are read. */
interface AnswerFormat {
  /** Returns a reader for one streamed answer. */
  reader(clock: Ports['clock']): EventData<ModelEvent>
  /** Converts a complete answer to events. */
  eventsOf(raw: unknown): ModelEvent[]
}

const COMPLETION: AnswerFormat = { reader: chunks, eventsOf: eventsOfCompletion }
const RESPONSE: AnswerFormat = { reader: responseStream, eventsOf: eventsOfResponse }

/** Reads a complete answer to a streaming request. Some servers cannot stream, or report errors this way. */
async function* readWholeAnswer(
  response: Response,
  { eventsOf }: AnswerFormat,
  fault: (error: unknown) => ModelError,
): AsyncGenerator<ModelEvent, undefined> {
  try {
    yield* eventsOf(await response.json())
  } catch (error) {
    throw fault(error)
  }
}

/** Reads a streamed answer to a request for a complete one. Some servers can only stream. */
async function readStream(response: Response, data: EventData<ModelEvent>): Promise<ModelEvent[]> {
  const events: ModelEvent[] = []
  for await (const event of data.of(response, error => error)) events.push(event)
  return events
}
