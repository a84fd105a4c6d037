import type { Ports } from '#kernel'

interface Known {
  name: string
  base_url: string
  /** Runs on the operator's own machine: needs no key and costs nothing. */
  local?: boolean
}

/** The providers that speak OpenAI's protocol, and where they listen unless `<NAME>_BASE_URL` says otherwise. */
const KNOWN: readonly Known[] = [
  { name: 'openai', base_url: 'https://api.openai.com/v1' },
  { name: 'groq', base_url: 'https://api.groq.com/openai/v1' },
  { name: 'fireworks', base_url: 'https://api.fireworks.ai/inference/v1' },
  { name: 'openrouter', base_url: 'https://openrouter.ai/api/v1' },
  { name: 'ollama', base_url: 'http://localhost:11434/v1', local: true },
  { name: 'lmstudio', base_url: 'http://localhost:1234/v1', local: true },
  { name: 'vllm', base_url: 'http://localhost:8000/v1', local: true },
  { name: 'llamacpp', base_url: 'http://localhost:8080/v1', local: true },
]

/** Where and how one OpenAI-compatible server is called. */
export interface Endpoint {
  name: string
  base_url: string
  /** The variable that holds the key. */
  key_env: string
  key: string | undefined
  /** Without a key it answers nothing: the provider's own public address. */
  needs_key: boolean
  free: boolean
  /** The model to use when only the provider is named: `<NAME>_MODEL`. */
  model: string | undefined
  /** OpenAI's own: whom a call is booked to. */
  organization: string | null
  project: string | null
}

/** The endpoints as the environment has them. */
export function endpoints(env: Ports['env']): Endpoint[] {
  return KNOWN.map(({ name, base_url, local = false }) => {
    const variable = (suffix: string) => env[`${name.toUpperCase()}_${suffix}`]?.trim() || undefined
    const own = variable('BASE_URL')
    const at = (own ?? base_url).replace(/\/+$/, '')
    return {
      name,
      base_url: at,
      key_env: `${name.toUpperCase()}_API_KEY`,
      key: variable('API_KEY'),
      needs_key: !local && own === undefined,
      free: local || isLoopback(at),
      model: variable('MODEL'),
      organization: name === 'openai' ? (variable('ORG_ID') ?? null) : null,
      project: name === 'openai' ? (variable('PROJECT_ID') ?? null) : null,
    }
  })
}

/** Whether a URL names this machine; the URL parser has normalised the odd spellings. */
function isLoopback(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { hostname } = new URL(url)
  return hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === '[::1]' || /^127\./.test(hostname)
}
