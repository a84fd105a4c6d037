import { Images } from '#core/images/contract'
import { errorMessage, type PluginHandle } from '#kernel'
import type { Target } from '../catalogue/names.ts'
import { hasImages, nameImages, withoutImages } from '../context/vision.ts'
import { ModelError, type ModelFacts, type ModelRequest, type SentMessage, type ToolCalls } from '../contract.ts'
import type { LearnedModels } from '../learned/learned-models.ts'
import { CHAT_COMPLETIONS, parameterRemedy } from '../providers/refusals.ts'
import { type Reading, ToolCallReader } from '../repair/tool-call-reader.ts'
import { type AdaptedTarget, readAnswer } from './adapted-target.ts'
import { promptedRequest } from './prompted.ts'
import { withSchemaInPrompt } from './schema-prompt.ts'

/**
 * Messages of servers that they, or the model, do not support tools: Ollama, vLLM, llama.cpp, Groq, OpenRouter and
 * others.
 */
const NO_TOOLS =
  /HTTP (?:400|404|422|500|501): .*\b(?:tools?|tool[_ ]choice|functions?)\b.*(?:support|requires?|enable|unknown|unrecognized|unexpected|not (?:allowed|permitted|available))|HTTP (?:400|404|422|500|501): .*(?:support|unknown|unrecognized|unexpected).*\btools?\b/i
/**
 * Messages of servers that a model does not see images: OpenAI, Mistral, llama.cpp and LM Studio; OpenRouter and
 * Ollama; DeepSeek, Groq, vLLM. Sources: vllm#11629 (OpenAI's), ollama#17301, next-ai-draw-io#55 (DeepSeek's), nexu#733
 * (OpenRouter's), read on 2026-11-25; the others were not looked up.
 */
const NO_VISION =
  /HTTP (?:400|404|415|422|500|501): .*(?:image(?:s|_url)?\b.{0,60}(?:not (?:supported|enabled|allowed)|only supported)|(?:not support|support|missing data required for)( any)? images?\b|unknown variant .?image_url|content must be a string|not a multimodal|at most 0 image)/i
/** Messages that an image cannot be read, which say nothing about the model: Anthropic, OpenAI, Gemini, vLLM. */
const BAD_IMAGE =
  /HTTP (?:400|413|422): .*(?:could not process image|unable to process input image|unsupported image|invalid image|failed to (?:load|decode) image|cannot identify image|image.{0,40}(?:exceeds|too large|too big))/i
const NO_SCHEMA = /HTTP (?:400|404|422|500|501): .*(?:response[_ ]?format|json[_ ]schema|structured output|grammar)/i

/**
 * Messages of llama.cpp (issue 20650) and Ollama (issues 12064, 17638) that they cannot parse a call that the model
 * wrote.
 */
const UNPARSED =
  /(?:HTTP 500|reported): .*(?:Failed to parse (?:input at pos|tool call arguments)|error parsing tool call)/i

const UNREADABLE = 'not shown to the model, because its server refused it'
const GONE = 'no longer kept'

/**
 * Sends each request in a form that its model supports: tools and schemas described in the prompt, calls parsed from
 * text, unsupported parameters left out. Callers always see the same requests and answers, so a conversation can switch
 * models.
 */
export class Abilities {
  readonly #svc: PluginHandle
  readonly #learned: LearnedModels

  constructor(svc: PluginHandle, learned: LearnedModels) {
    this.#svc = svc
    this.#learned = learned
  }

  /**
   * Returns whether to send images to a model: by a recorded refusal, then the catalogue or `models.yaml`, then its
   * server.
   */
  async canSee(target: Target, { vision }: Pick<ModelFacts, 'vision'>): Promise<boolean> {
    const { model, provider } = target
    if (!provider.vision || (await this.#learned.of(target)).lacks.includes('vision')) return false
    return vision ?? (await provider.vision(model).catch(() => null)) ?? true
  }

  /** Returns the target with adapted requests and answers. */
  adapt(target: Target): AdaptedTarget {
    return { ...target, ...this.#adaptProvider(target, target.tool_calls ?? target.provider.tool_calls ?? 'auto') }
  }

  #adaptProvider(target: Target, mode: ToolCalls): Pick<AdaptedTarget, 'stream' | 'complete'> {
    const { provider } = target
    let isUnreadable = false
    /** Whether the server could not parse a call that the model wrote. */
    let isUnparsed = false
    const form = async (whole: ModelRequest): Promise<{ sent: ModelRequest; reading: Reading }> => {
      const { lacks, omitted } = await this.#learned.of(target)
      const isBlind = lacks.includes('vision')
      const reason = isBlind ? undefined : UNREADABLE
      const request = isBlind || isUnreadable ? { ...whole, messages: nameImages(whole.messages, reason) } : whole
      const prompted = mode === 'prompted' || (mode === 'auto' && (isUnparsed || lacks.includes('tools')))
      const schemaInPrompt = request.response_schema && (!provider.structured || lacks.includes('schemas'))
      const omit = omitted.length > 0 ? { omit: new Set(omitted) } : {}
      const adaptedRequest = { ...(schemaInPrompt ? withSchemaInPrompt(request) : request), ...omit }
      if (prompted) return { sent: promptedRequest(adaptedRequest), reading: 'prompted' }
      return { sent: adaptedRequest, reading: mode === 'auto' ? 'either' : 'native' }
    }
    const learn = async (error: unknown, sent: ModelRequest) => {
      if (mode === 'auto' && sent.tools.length > 0 && error instanceof ModelError && UNPARSED.test(error.message)) {
        isUnparsed = true
        const what = `The server of ${target.id} could not parse a tool call of the model (${error.problem})`
        this.#svc.log.info({ code: 'model_ability' }, `${what}. This call is repeated with the tools in the prompt.`)
        return true
      }
      const isLearned = await this.#learn(error, sent, target, mode)
      isUnreadable ||= isLearned && isBadImage(error)
      return isLearned
    }

    const stream: AdaptedTarget['stream'] = async (given, signal, report) => {
      const request = await this.#loadImages(given)
      let sent = request
      const ask = async () => {
        const asking = await form(request)
        sent = asking.sent
        return { events: provider.stream(sent, signal), reader: new ToolCallReader(request, asking.reading) }
      }
      return readAnswer(ask, error => learn(error, sent), signal, report)
    }
    const complete: AdaptedTarget['complete'] = async (given, signal) => {
      const request = await this.#loadImages(given)
      for (;;) {
        const { sent, reading } = await form(request)
        try {
          const events = await provider.complete!(sent, signal)
          const reader = new ToolCallReader(request, reading)
          return events.flatMap(event => [...reader.receive(event)])
        } catch (error) {
          if (!(await learn(error, sent))) throw error
        }
      }
    }
    return { stream, ...(provider.complete ? { complete } : {}) }
  }

  /** Returns the request with the bytes of its images; missing images are named in the text. */
  async #loadImages(request: ModelRequest): Promise<ModelRequest> {
    const { messages } = request
    if (!hasImages(messages)) return request
    const hashes = messages.flatMap(({ images = [] }) => images.map(({ sha256 }) => sha256))
    const kept = this.#svc.has(Images) ? await this.#svc.use(Images).load(hashes) : new Map<string, string>()
    const filled = messages.map((message): SentMessage => {
      if (!message.images) return message
      const images = message.images.map(image => {
        const data = kept.get(image.sha256)
        return data === undefined ? image : { ...image, data }
      })
      return withoutImages(
        { ...message, images },
        GONE,
        images.filter(({ data }) => data !== undefined),
      )
    })
    return { ...request, messages: filled }
  }

  /** Records what a refusal shows that the model lacks. Returns whether another form can help. */
  async #learn(error: unknown, sent: ModelRequest, target: Target, mode: ToolCalls): Promise<boolean> {
    if (!(error instanceof ModelError)) return false
    if (error.kind === 'unsupported_parameter') return this.#omits(error, sent, target)
    if (error.kind === 'content_policy' || error.kind === 'invalid_request') return false
    const { message } = error
    if (hasImages(sent.messages) && (NO_VISION.test(message) || isBadImage(error))) {
      if (!isBadImage(error)) await this.#learned.learn(target, { lacks: ['vision'] })
      this.#svc.log.info({ code: 'model_ability' }, `${errorMessage(error)} The images are named in the text instead.`)
      return true
    }
    const isSchema = sent.response_schema && NO_SCHEMA.test(message)
    const isTools = sent.tools.length > 0 && mode === 'auto' && NO_TOOLS.test(message)
    if (!isSchema && !isTools) return false
    await this.#learned.learn(target, { lacks: [isSchema ? 'schemas' : 'tools'] })
    this.#svc.log.info(
      { code: 'model_ability' },
      isSchema
        ? `${target.id} does not accept response_format (${error.problem}). From now on, its prompt describes the form of the answer instead.`
        : `${target.id} does not accept tools (${error.problem}). From now on, its prompt describes them instead.`,
    )
    return true
  }

  /** Records a parameter to leave out. Returns false if it was left out already. */
  async #omits(error: ModelError, sent: ModelRequest, target: Target): Promise<boolean> {
    const { parameter } = error
    if (parameter === null || sent.omit?.has(parameter)) return false
    await this.#learned.learn(target, { omitted: [parameter] })
    const problem = error.problem.replace(`; ${parameterRemedy(parameter)}`, '')
    const says =
      parameter === CHAT_COMPLETIONS
        ? `${target.id} needs the Responses API (${problem}). From now on, its requests use it.`
        : `${target.id} does not accept ${parameter} (${problem}). From now on, its requests leave it out.`
    this.#svc.log.warn({ code: 'model_parameter' }, says)
    return true
  }
}

function isBadImage(error: unknown): boolean {
  return error instanceof ModelError && BAD_IMAGE.test(error.message)
}
