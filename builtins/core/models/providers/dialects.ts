/** Servers that speak OpenAI's protocol have their own names for some parameters of a request. */
export type Dialect = 'openai' | 'openrouter' | 'gemini' | 'mistral' | 'deepseek' | 'ollama' | 'local'

/** Matched against the provider's name and the host of its address. */
const SIGNS: readonly [Dialect, RegExp][] = [
  ['openrouter', /(^|\.)openrouter(\.ai)?$/],
  ['gemini', /^(gemini|google)$|(^|\.)googleapis\.com$/],
  ['mistral', /^mistral$|(^|\.)mistral\.ai$/],
  ['deepseek', /^deepseek$|(^|\.)deepseek\.com$/],
  ['ollama', /^ollama$/],
  ['local', /^(vllm|llamacpp|lmstudio)$/],
]

/** Returns the dialect of a server; OpenAI's own where nothing says otherwise. */
export function dialectOf({ name, base_url }: { name: string; base_url: string }): Dialect {
  const host = URL.canParse(base_url) ? new URL(base_url).hostname : ''
  return SIGNS.find(([, sign]) => sign.test(host))?.[0] ?? SIGNS.find(([, sign]) => sign.test(name))?.[0] ?? 'openai'
}
