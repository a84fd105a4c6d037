/** Wording in which a provider reports a request larger than the context window. */
interface OverflowSign {
  /** Providers that use this wording. */
  of: string
  says: RegExp
  /** Pattern that finds the window in tokens, if the wording names it. */
  window?: RegExp
}

/**
 * Wordings of refusals, matched case-insensitively. Sources: the error tables of pi-mono
 * (packages/ai/src/utils/overflow.ts), OpenClaw, opencode (provider/error.ts) and the OpenHands SDK
 * (llm/exceptions/classifier.py), read on 2026-11-24; LM Studio's, lmstudio-bug-tracker.
 */
const OVERFLOW_SIGNS: readonly OverflowSign[] = [
  { of: 'Anthropic', says: /prompt is too long/i, window: />\s*(\d[\d,]*)\s*maximum/i },
  {
    of: 'Anthropic',
    says: /request_too_large|input length and `?max_tokens`? exceed context limit/i,
    window: />\s*(\d[\d,]*)/,
  },
  { of: 'Amazon Bedrock', says: /input is too long for requested model/i },
  { of: 'OpenAI', says: /exceeds the context window|context_length_exceeded/i },
  {
    of: 'Gemini',
    says: /input token count.*exceeds the maximum/i,
    window: /maximum number of tokens allowed\D*(\d[\d,]*)/i,
  },
  { of: 'xAI', says: /maximum prompt length is/i, window: /maximum prompt length is (\d[\d,]*)/i },
  { of: 'Groq', says: /reduce the length of the messages/i },
  {
    of: 'OpenAI, OpenRouter, DeepSeek, vLLM',
    says: /(maximum|max) context length is/i,
    window: /context length is (\d[\d,]*)/i,
  },
  { of: 'vLLM', says: /context length is only/i, window: /context length is only (\d[\d,]*)/i },
  { of: 'vLLM', says: /input length.*exceeds.*context length/i, window: /context length\D*(\d[\d,]*)/i },
  {
    of: 'llama.cpp',
    says: /exceeds the available context size|exceed_context_size_error/i,
    window: /context size \((\d[\d,]*)/i,
  },
  {
    of: 'LM Studio',
    says: /greater than the context length|n_keep\W.{0,20}>= ?n_ctx|context length of only|context size has been exceeded/i,
    window: /(?:n_ctx\W{0,3}|context length (?:of )?(?:only )?)(\d[\d,]*)/i,
  },
  { of: 'Ollama', says: /prompt is longer than the context length/i },
  // A template's error after Ollama dropped the oldest messages, with the user's.
  { of: 'Ollama with Qwen', says: /no user query found in messages/i },
  { of: 'GitHub Copilot', says: /prompt token count.*exceeds the limit of/i, window: /limit of (\d[\d,]*)/i },
  { of: 'MiniMax', says: /context window exceeds limit/i, window: /limit \D*(\d[\d,]*)/i },
  { of: 'Kimi', says: /exceeded model token limit/i, window: /token limit: (\d[\d,]*)/i },
  {
    of: 'Mistral',
    says: /too large for model with \d+ maximum context length/i,
    window: /with (\d[\d,]*) maximum context length/i,
  },
  { of: 'z.ai', says: /model_context_window_exceeded/i },
]

/** Maximum plausible window; a larger number in a message means something else. */
const MAX_WINDOW = 100_000_000
const MIN_WINDOW = 256

/**
 * Returns whether a refusal means that the request was too large for the model.
 * @param status of the HTTP answer; 429 is never an overflow, 413 always is
 * @returns the window in tokens where the refusal names it, else null; undefined when it means something else
 */
export function overflowIn(status: number, text: string): { window: number | null } | undefined {
  if (status === 429) return undefined
  const signs = OVERFLOW_SIGNS.filter(({ says }) => says.test(text))
  if (signs.length === 0) return status === 413 ? { window: null } : undefined
  const named = signs.map(sign => sign.window?.exec(text)?.[1]).find(found => found !== undefined)
  const window = Number(named?.replaceAll(',', ''))
  return { window: window >= MIN_WINDOW && window <= MAX_WINDOW ? window : null }
}
