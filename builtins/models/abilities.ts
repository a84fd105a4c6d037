import { type Log, sentenceOf } from '#kernel'
import { ModelError, type ModelProvider, type ModelRequest, type ToolCalls } from './contract.ts'
import type { Target } from './names.ts'
import { promptedRequest } from './prompted.ts'
import { Hearing, type Reading } from './repair/hearing.ts'
import { promptedSchema } from './structured.ts'
import { type Understood, understand } from './understood.ts'

/** So servers say that they, or the model, have no tools: Ollama, vLLM, llama.cpp, Groq, OpenRouter and others. */
const NO_TOOLS =
  /HTTP (?:400|404|422|500|501): .*\b(?:tools?|tool[_ ]choice|functions?)\b.*(?:support|requires?|enable|unknown|unrecognized|unexpected|not (?:allowed|permitted|available))|HTTP (?:400|404|422|500|501): .*(?:support|unknown|unrecognized|unexpected).*\btools?\b/i
const NO_SCHEMA = /HTTP (?:400|404|422|500|501): .*(?:response[_ ]?format|json[_ ]schema|structured output|grammar)/i

/**
 * What models were found to lack, for as long as the process lives, and how they are asked then: tools and schemas in the
 * prompt, calls out of the text, parameters left out. Whatever the way, callers see the same requests and answers, so that the
 * model of a conversation can be changed in its middle.
 */
export class Abilities {
  readonly #withoutTools = new Set<string>()
  readonly #withoutSchemas = new Set<string>()
  /** Keys of requests that a model does not take. */
  readonly #omitted = new Map<string, Set<string>>()
  readonly #log: Log

  constructor(log: Log) {
    this.#log = log
  }

  /** The same target, understood. `mode` is what configuration says of the model. */
  understood(target: Target, mode: ToolCalls | undefined): Understood {
    const { provider, id } = target
    return { ...target, ...this.#adapted(provider, id, mode ?? provider.tool_calls ?? 'auto') }
  }

  #adapted(provider: ModelProvider, id: string, mode: ToolCalls): Pick<Understood, 'stream' | 'complete'> {
    const form = (request: ModelRequest): { sent: ModelRequest; reading: Reading } => {
      const prompted = mode === 'prompted' || (mode === 'auto' && this.#withoutTools.has(id))
      const schemaInPrompt = request.response_schema && (!provider.structured || this.#withoutSchemas.has(id))
      const omit = this.#omitted.get(id)
      const asked = { ...(schemaInPrompt ? promptedSchema(request) : request), ...(omit ? { omit } : {}) }
      if (prompted) return { sent: promptedRequest(asked), reading: 'prompted' }
      return { sent: asked, reading: mode === 'auto' ? 'either' : 'native' }
    }
    const learn = (error: unknown, sent: ModelRequest) => this.#learn(error, sent, id, mode)

    const stream: Understood['stream'] = (request, signal, tell) => {
      let sent = request
      const ask = () => {
        const asking = form(request)
        sent = asking.sent
        return { events: provider.stream(sent, signal), hearing: new Hearing(request, asking.reading) }
      }
      return understand(ask, error => learn(error, sent), signal, tell)
    }
    const complete: Understood['complete'] = async (request, signal) => {
      for (;;) {
        const { sent, reading } = form(request)
        try {
          const events = await provider.complete!(sent, signal)
          const hearing = new Hearing(request, reading)
          return events.flatMap(event => [...hearing.hear(event)])
        } catch (error) {
          if (!learn(error, sent)) throw error
        }
      }
    }
    return { stream, ...(provider.complete ? { complete } : {}) }
  }

  /** Whether a refusal says what the model lacks, so that asking in another form can help. */
  #learn(error: unknown, sent: ModelRequest, id: string, mode: ToolCalls): boolean {
    if (!(error instanceof ModelError)) return false
    if (error.kind === 'unsupported_parameter') return this.#omits(error, id)
    if (error.kind === 'content_policy' || error.kind === 'invalid_request') return false
    const { message } = error
    if (sent.response_schema && NO_SCHEMA.test(message)) {
      this.#withoutSchemas.add(id)
    } else if (sent.tools.length > 0 && mode === 'auto' && NO_TOOLS.test(message)) {
      this.#withoutTools.add(id)
    } else return false
    this.#log.info({ code: 'model_ability' }, `${sentenceOf(error)} It is asked in its prompt from now on.`)
    return true
  }

  /** Leaves out what a model does not take, unless that was left out already. */
  #omits(error: ModelError, id: string): boolean {
    const omitted = this.#omitted.get(id) ?? new Set()
    if (error.parameter === null || omitted.has(error.parameter)) return false
    this.#omitted.set(id, new Set([...omitted, error.parameter]))
    this.#log.warn(
      { code: 'model_parameter' },
      `${sentenceOf(error)} It is asked without ${error.parameter} from now on.`,
    )
    return true
  }
}
