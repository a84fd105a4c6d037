/** OpenAI-compatible servers by the names they use for some request parameters. */
export type Dialect = 'openai' | 'openrouter' | 'gemini' | 'mistral' | 'deepseek' | 'ollama' | 'local'

/** Patterns matched against the provider's name and the host of its URL. */
const SIGNS: readonly [Dialect, RegExp][] = [
  ['openrouter', /(^|\.)openrouter(\.ai)?$/],
  ['gemini', /^(gemini|google)$|(^|\.)googleapis\.com$/],
  ['mistral', /^mistral$|(^|\.)mistral\.ai$/],
  ['deepseek', /^deepseek$|(^|\.)deepseek\.com$/],
  ['ollama', /^ollama$/],
  ['local', /^(vllm|llamacpp|lmstudio)$/],
]

/** Returns the dialect of a server, `openai` by default. */
export function dialectOf({ name, base_url }: { name: string; base_url: string }): Dialect {
  const host = URL.canParse(base_url) ? new URL(base_url).hostname : ''
  return SIGNS.find(([, sign]) => sign.test(host))?.[0] ?? SIGNS.find(([, sign]) => sign.test(name))?.[0] ?? 'openai'
}
