import type { ModelFailure } from '../contract.ts'

/** Pattern of an error message for one kind of refusal. */
interface RefusalSign {
  /** Providers that use this wording. */
  of: string
  says: RegExp
}

interface ParameterSign extends RefusalSign {
  /** Request key in question, if the pattern's first group does not capture it. */
  key?: string
  /** The wording has other uses too: it counts only for keys known to be optional. */
  isLoose?: true
}

/** The two APIs of OpenAI, as `parameter` of a refusal by a model or a server that has only the other one. */
export const CHAT_COMPLETIONS = 'chat_completions'
export const RESPONSES = 'responses'

/** Request keys that cannot be omitted. */
const ESSENTIAL = [
  'model',
  'messages',
  'system',
  'tools',
  'tool_choice',
  'functions',
  'stream',
  'response_format',
  'input',
]

/**
 * Optional keys of a request and its messages. `thinking.type.enabled` is one way to request thinking, and
 * `thinking.type.disabled` one way to request none; others remain.
 */
const OMITTABLE = [
  'temperature',
  'top_p',
  'stop',
  'stop_sequences',
  'seed',
  'random_seed',
  'verbosity',
  'reasoning_effort',
  'reasoning',
  'reasoning.effort',
  'reasoning.summary',
  'text.verbosity',
  'include',
  'reasoning_content',
  'reasoning_details',
  'extra_content',
  'thinking',
  'thinking.type.enabled',
  'thinking.type.disabled',
  'output_config',
  'extra_body',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_breakpoint',
  'cache_control',
  'session_id',
  'chat_template_kwargs',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
]

/**
 * Error messages that refuse one parameter, most specific first. Sources: the providers' documentation and issues that
 * quote their answers (litellm, opencode, pi-mono, vllm, ollama, groq-python, hermes-agent, modelparams.dev), read on
 * 2026-12-01.
 */
export const PARAMETER_SIGNS: readonly ParameterSign[] = [
  { of: 'OpenAI', says: /verified to generate reasoning summaries/i, key: 'reasoning.summary' },
  { of: 'OpenAI', says: /Encrypted content is not supported/i, key: 'include' },
  // The breakpoint is named with its path: messages[0].content[0].prompt_cache_breakpoint
  { of: 'OpenAI', says: /\b(prompt_cache_(?:key|options|breakpoint))\b/i },
  { of: 'OpenAI', says: /Unsupported (?:parameter|value)s?: ['"`]?([\w.]+)/i },
  { of: 'OpenAI', says: /Unrecognized request arguments? supplied: ([\w.]+)/i },
  { of: 'OpenAI', says: /Unknown parameter: ['"`]?([\w.]+)/i },
  { of: 'Anthropic', says: /(thinking\.type\.(?:enabled|disabled))\W+is not supported/i },
  { of: 'Anthropic', says: /adaptive thinking is not supported/i, key: 'thinking' },
  { of: 'Anthropic', says: /does not support (?:the )?effort/i, key: 'output_config' },
  { of: 'Anthropic', says: /`?temperature`? and `?(top_p)`? cannot both be specified/i },
  { of: 'Anthropic', says: /`?(temperature|top_p)`? (?:is deprecated|may only be set to 1|must be unset)/i },
  { of: 'Fireworks', says: /Extra inputs are not permitted, field: ['"]([\w.]+)/i },
  { of: 'vLLM', says: /['"]loc['"]: [([]['"]body['"], ['"](\w+)['"].*Extra inputs are not permitted/i },
  { of: 'Anthropic, Mistral', says: /(?<![\w.])([\w.]+): Extra inputs are not permitted/i },
  { of: 'Ollama', says: /does not support thinking|think value .* is not supported/i, key: 'reasoning_effort' },
  { of: 'Groq', says: /property ['"]([\w.]+)['"] is (?:unsupported|not supported)/i },
  { of: 'Groq', says: /`?(reasoning_effort)`? must be one of/i },
  { of: 'xAI', says: /does not support parameter `?(\w+)/i },
  { of: 'xAI', says: /Argument not supported on this model: (\w+)/i },
  { of: 'OpenRouter', says: /Reasoning is mandatory/i, key: 'reasoning' },
  { of: 'LiteLLM', says: /does not support parameters: \W*(\w+)/i },
  // A keyword of a tool's schema is no parameter of the request.
  { of: 'Gemini', says: /Unknown name \W*(\w+)\b(?!\W+at 'tools)/i },
  { of: 'Gemini', says: /Thinking budget (?:is not supported|\(\d+\) is invalid)/i, key: 'extra_body' },
  { of: 'Gemini', says: /only works in thinking mode|thinking_budget to 0\b/i, key: 'reasoning_effort' },
  {
    of: 'Gemini',
    says: /Thinking (?:level|mode)? ?\w* ?(?:is not supported|can(?:no|')t be disabled)/i,
    key: 'reasoning_effort',
  },
  { of: 'older servers', says: /stream.?options|include_usage/i, key: 'stream_options' },
  {
    of: 'many',
    says: /\b(\w+)['"`]? (?:is|are) (?:not (?:supported|permitted|allowed)|unsupported)/i,
    isLoose: true,
  },
  // Kimi: only 1 is allowed; Z.ai: of three levels; and others, in many words.
  { of: 'many', says: /\b(temperature|top_p|reasoning[ _]effort)\b/i, isLoose: true },
]

/** Error messages that a model, or its tools, can only be used with the Responses API. */
const RESPONSES_SIGNS: readonly RefusalSign[] = [
  { of: 'OpenAI', says: /\b(?:use|in) \/?v1\/responses\b/i },
  { of: 'OpenAI', says: /not a chat model/i },
]

/** Error messages that refuse the content of a conversation. Sources as above. */
export const CONTENT_SIGNS: readonly RefusalSign[] = [
  { of: 'OpenAI', says: /content_policy_violation|violating our usage polic/i },
  { of: 'OpenAI', says: /was rejected (?:as a result of|by) our safety system/i },
  { of: 'Azure OpenAI', says: /content management policy|ResponsibleAIPolicyViolation/i },
  { of: 'Anthropic', says: /blocked by content filtering policy/i },
  { of: 'Gemini', says: /PROHIBITED_CONTENT|blocked due to safety/i },
  { of: 'DeepSeek', says: /Content Exists Risk/i },
  { of: 'Qwen', says: /data_inspection_failed|inappropriate content/i },
  { of: 'Kimi', says: /considered high risk/i },
  { of: 'OpenRouter', says: /requires moderation.*flagged|input was flagged/i },
  { of: 'xAI', says: /Content violates usage guidelines/i },
]

/**
 * Error messages that refuse reasoning that was sent back. Newer models of Anthropic bind it to all that stood before it,
 * tools included: https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks
 */
const REASONING_SIGNS: readonly RefusalSign[] = [
  { of: 'Anthropic', says: /Expected `?thinking`? or `?redacted_thinking|thinking`? blocks .*cannot be modified/i },
  { of: 'Anthropic', says: /Invalid `?signature`? in `?(?:redacted_)?thinking/i },
  { of: 'OpenAI', says: /invalid_encrypted_content|encrypted content .*could not be (?:verified|decrypted)/i },
  { of: 'OpenAI', says: /of type 'reasoning' was provided without its required following item/i },
]

/**
 * Error messages that refuse the structure of a conversation. Sources: the issues named in
 * `test/support/model/wire-rules.ts`.
 */
export const SHAPE_SIGNS: readonly RefusalSign[] = [
  { of: 'Anthropic', says: /ids were found without `?tool_result/i },
  { of: 'Anthropic', says: /unexpected `?tool_use_id`? found in/i },
  { of: 'Anthropic', says: /each tool_use must have a single result/i },
  { of: 'Anthropic', says: /text content blocks must (?:be non-empty|contain non-whitespace text)/i },
  { of: 'Anthropic', says: /does not support assistant message prefill|must end with a user message/i },
  { of: 'Anthropic', says: /final assistant content cannot end with trailing whitespace/i },
  { of: 'Anthropic, vLLM, llama.cpp', says: /roles must (?:alternate|begin)/i },
  { of: 'OpenAI', says: /must be followed by tool messages|must be a response to a preceeding message/i },
  { of: 'OpenAI', says: /No tool (?:output|call) found for function call/i },
  { of: 'Mistral', says: /invalid_request_message_order|Unexpected role '\w+' after role|Expected last role/i },
  { of: 'Mistral', says: /Not the same number of function calls and responses|Tool call id must be/i },
  { of: 'Gemini', says: /Please ensure that .*function (?:call|response)/i },
  { of: 'Gemini', says: /missing a `?thought_signature/i },
  {
    of: 'DeepSeek, Kimi',
    says: /reasoning_content`? .*(?:must be passed back|is missing|field in the assistant message)/i,
  },
  { of: 'llama.cpp', says: /Jinja Exception|prefill is incompatible/i },
  { of: 'Ollama', says: /Cannot have 2 or more assistant messages/i },
]

/** `parameter` of a refusal of reasoning that was sent back. */
export const REASONING = 'provider_data'

/** Kind of a refusal and how to recover from it. */
export interface RefusalKind {
  kind: Extract<ModelFailure, 'unsupported_parameter' | 'content_policy' | 'invalid_request'>
  /** Request key that the model does not accept, if it can be omitted. */
  parameter?: string
  remedy: string
}

const ANOTHER_MODEL = 'choose another model with: svc edit <agent> --model <model>'
export const CONTENT_REMEDY = `its provider refuses the content of the conversation: reword the goal, or ${ANOTHER_MODEL}`

/**
 * Returns the kind of a refusal; undefined if the error is none.
 * @param status of the HTTP answer
 * @param text code, type and message of the answer, in full
 */
export function refusalIn(status: number, text: string): RefusalKind | undefined {
  const says = (signs: readonly RefusalSign[]) => signs.some(sign => sign.says.test(text))
  const isBadRequest = status === 400 || status === 422
  if ((isBadRequest || status === 403 || status === 451) && says(CONTENT_SIGNS)) {
    return {
      kind: 'content_policy',
      remedy: CONTENT_REMEDY,
    }
  }
  const isReasoning = isBadRequest && says(REASONING_SIGNS)
  if (isReasoning || ((isBadRequest || status === 500) && says(SHAPE_SIGNS))) {
    return {
      kind: 'invalid_request',
      ...(isReasoning ? { parameter: REASONING } : {}),
      remedy: `its server refuses ${isReasoning ? 'earlier reasoning' : 'the structure'} of the conversation: ${ANOTHER_MODEL}`,
    }
  }
  if ((isBadRequest || status === 404) && says(RESPONSES_SIGNS)) {
    return { kind: 'unsupported_parameter', parameter: CHAT_COMPLETIONS, remedy: parameterRemedy(CHAT_COMPLETIONS) }
  }
  const parameter = isBadRequest || status === 501 ? parameterIn(text) : undefined
  if (parameter === undefined) return undefined
  return {
    kind: 'unsupported_parameter',
    parameter,
    remedy: parameterRemedy(parameter),
  }
}

/**
 * Returns whether a server is loading its model, as llama-server reports:
 * https://github.com/ggml-org/llama.cpp/blob/master/tools/server/server-http.cpp
 */
export function isLoading(status: number, text: string): boolean {
  return status === 503 && /\bloading\b/i.test(text)
}

/** Returns what to do about a parameter that is refused again after it was left out. */
export function parameterRemedy(parameter: string): string {
  return parameter === CHAT_COMPLETIONS
    ? ANOTHER_MODEL
    : `remove ${parameter} from the parameters of the model, the profile or the task`
}

/** Returns the key of a request that a refusal is about. */
function parameterIn(text: string): string | undefined {
  for (const { says, key, isLoose = false } of PARAMETER_SIGNS) {
    const found = says.exec(text)
    const named = found && (key ?? snakeCase(found[1]!))
    if (!named) continue
    const path = named.split('.')
    const known = [named, path[0]!, path.at(-1)!].find(each => OMITTABLE.includes(each))
    if (known) return known
    // A key that `extra` set.
    if (!isLoose && path.length === 1 && !ESSENTIAL.includes(named)) return named
  }
  return undefined
}

/** Converts a name to snake case. xAI names parameters in camel case, as its clients do: `reasoningEffort`. */
function snakeCase(name: string): string {
  return name.replace(/(?<=[a-z])(?=[A-Z])| /g, '_').toLowerCase()
}
