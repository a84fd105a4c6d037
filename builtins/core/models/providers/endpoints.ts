import { type Ports, z } from '#kernel'
import { TIERS } from '../catalogue/catalogue.ts'
import { ToolCalls } from '../contract.ts'
import { ModelParameters } from '../parameters/contract.ts'

/** Configuration of one provider. */
export const ProviderSettings = z.strictObject(
  {
    base_url: z
      .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
      .optional()
      .describe('Base URL of the server, including /v1'),
    api_key_env: z
      .string()
      .regex(
        /^[A-Z][A-Z0-9_]*_(API_KEY|TOKEN|SECRET|PASSWORD)$/,
        'must name an environment variable that ends in _API_KEY, _TOKEN, _SECRET or _PASSWORD, because svc masks the values of such variables everywhere',
      )
      .optional()
      .describe('Environment variable that holds the API key (default: <NAME>_API_KEY)'),
    model: z.string().min(1).max(200).optional().describe('Model that is used when only the provider is named'),
    tiers: z.partialRecord(z.enum(TIERS), z.string().min(1).max(200)).optional(),
    free: z
      .boolean()
      .optional()
      .describe('Whether calls without a price in models.yaml cost nothing; true for loopback addresses by default'),
    tool_calls: ToolCalls.optional().describe('How its models call tools (default: auto, or what models.yaml says)'),
    parameters: ModelParameters.optional().describe(
      'Parameters of its models; they take precedence over model.parameters',
    ),
    max_concurrent: z
      .int()
      .min(0)
      .optional()
      .describe('Maximum number of concurrent attempts from one process; 0 sets no limit'),
  },
  'must be a mapping, such as { base_url: http://127.0.0.1:8080/v1 }',
)
export type ProviderSettings = z.infer<typeof ProviderSettings>

interface Known {
  name: string
  base_url: string
  /**
   * Command that starts the server. Set only for servers that run on the operator's machine, need no key and cost
   * nothing.
   */
  start?: string
  /** Command that gives the server a larger context window. */
  larger_window?: string
}

const ANTHROPIC = 'anthropic'

/** Known OpenAI-compatible providers with their default URLs. */
const KNOWN: readonly Known[] = [
  { name: 'openai', base_url: 'https://api.openai.com/v1' },
  { name: 'groq', base_url: 'https://api.groq.com/openai/v1' },
  { name: 'fireworks', base_url: 'https://api.fireworks.ai/inference/v1' },
  { name: 'openrouter', base_url: 'https://openrouter.ai/api/v1' },
  {
    name: 'ollama',
    base_url: 'http://localhost:11434/v1',
    start: 'ollama serve',
    larger_window: 'OLLAMA_CONTEXT_LENGTH=16384 ollama serve',
  },
  {
    name: 'lmstudio',
    base_url: 'http://localhost:1234/v1',
    start: 'lms server start',
    larger_window: 'lms load <model> --context-length 16384',
  },
  {
    name: 'vllm',
    base_url: 'http://localhost:8000/v1',
    start: 'vllm serve <model>',
    larger_window: 'vllm serve <model> --max-model-len 16384',
  },
  {
    name: 'llamacpp',
    base_url: 'http://localhost:8080/v1',
    start: 'llama-server -m <model.gguf> --jinja',
    larger_window: 'llama-server -m <model.gguf> --jinja -c 16384',
  },
]

/** Returns whether a provider of this name is available without configuration. */
export function isKnownProvider(name: string): boolean {
  return name === ANTHROPIC || KNOWN.some(known => known.name === name)
}

/** Address, credentials and settings of one model server. */
export interface Endpoint {
  name: string
  base_url: string
  /** Environment variable or configuration key that sets the URL. */
  base_url_from: string
  /** Environment variable that holds the key. */
  key_env: string
  key: string | undefined
  /** Whether calls need a key: true for the provider's own public URL, or when `api_key_env` is configured. */
  needs_key: boolean
  free: boolean
  /** Why calls are free; undefined if they are not. */
  free_because?: string | undefined
  /** Model used when only the provider is named; set by `<NAME>_MODEL`. */
  model: string | undefined
  /** Command that starts the server, if it runs on the operator's machine. */
  start: string | undefined
  /** Command that gives the server a larger context window. */
  larger_window?: string | undefined
  /** OpenAI organization that calls are billed to. */
  organization: string | null
  project: string | null
}

interface Settings {
  readonly providers: Readonly<Record<string, ProviderSettings>>
  readonly ollama_base_url: string
}

/**
 * Returns the OpenAI-compatible servers from the environment and the configuration. The environment takes precedence.
 */
export function endpoints(env: Ports['env'], { providers, ollama_base_url }: Settings): Endpoint[] {
  const further = Object.entries(providers).filter(([name, { base_url }]) => base_url && !isKnownProvider(name))
  const known = KNOWN.map(each => (each.name === 'ollama' ? { ...each, base_url: ollama_base_url } : each))
  return [
    ...known.map(each => endpoint(each, env, providers[each.name] ?? {})),
    ...further.map(([name, settings]) => endpoint({ name, base_url: settings.base_url! }, env, settings)),
  ]
}

/** Returns the endpoint of Anthropic's own protocol. */
export function anthropicEndpoint(env: Ports['env'], { providers }: Settings): Endpoint {
  return endpoint({ name: ANTHROPIC, base_url: 'https://api.anthropic.com' }, env, providers[ANTHROPIC] ?? {})
}

/** Returns what to do to call a real model instead of the simulated one, by which key or address is set. */
export function realModelRemedy(endpoints: readonly Endpoint[], env: Ports['env']): string {
  for (const { name, key_env, base_url_from } of endpoints) {
    const variable = [key_env, base_url_from].find(each => env[each]?.trim())
    if (variable)
      return `${variable} is set; to use it: svc config set model.default_model ${name}, then restart: svc restart`
  }
  return 'to use a real model, set OPENAI_API_KEY or OPENAI_BASE_URL, or set model.default_model to a model from svc models'
}

function endpoint(
  { name, base_url, start, larger_window }: Known,
  env: Ports['env'],
  settings: ProviderSettings,
): Endpoint {
  const prefix = name.toUpperCase().replaceAll('-', '_')
  const variable = (suffix: string) => env[`${prefix}_${suffix}`]?.trim() || undefined
  const ofEnvironment = variable('BASE_URL')
  const own = ofEnvironment ?? settings.base_url
  const at = start === undefined ? (own ?? base_url).replace(/\/+$/, '') : withVersion(own ?? base_url)
  const key_env = settings.api_key_env ?? `${prefix}_API_KEY`
  const free_because = freeReason(name, at, start !== undefined, settings.free)
  return {
    name,
    base_url: at,
    base_url_from: settings.base_url && !ofEnvironment ? `model.providers.${name}.base_url` : `${prefix}_BASE_URL`,
    key_env,
    key: env[key_env]?.trim() || undefined,
    needs_key: settings.api_key_env !== undefined || (start === undefined && own === undefined),
    free: free_because !== undefined,
    free_because,
    model: variable('MODEL') ?? settings.model,
    start,
    larger_window,
    organization: name === 'openai' ? (variable('ORG_ID') ?? null) : null,
    project: name === 'openai' ? (variable('PROJECT_ID') ?? null) : null,
  }
}

/** Returns why a provider is considered free; undefined if it may cost something. */
function freeReason(name: string, at: string, ownServer: boolean, configured: boolean | undefined): string | undefined {
  if (configured !== undefined) return configured ? `model.providers.${name}.free is true` : undefined
  if (isLoopback(at)) return `${new URL(at).host} is on this machine`
  return ownServer ? `${name} is your own server` : undefined
}

/** Adds the path `/v1` to a URL that has none. Ollama, LM Studio, vLLM and llama.cpp serve the protocol there. */
function withVersion(url: string): string {
  const bare = url.replace(/\/+$/, '')
  return hasNoPath(bare) ? `${bare}/v1` : bare
}

/**
 * Returns what to do where a server without a path in its base URL does not know a request; empty with a path, and for
 * Anthropic's protocol.
 */
export function pathRemedy({ name, base_url, base_url_from }: Endpoint): string {
  if (name === ANTHROPIC || !hasNoPath(base_url)) return ''
  return `; most servers need a base URL that ends in /v1: set ${base_url_from} to ${base_url}/v1`
}

function hasNoPath(url: string): boolean {
  return URL.canParse(url) && new URL(url).pathname === '/'
}

/** Returns whether a URL is a loopback address. The URL parser has already normalized unusual spellings. */
function isLoopback(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { hostname } = new URL(url)
  return hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === '[::1]' || /^127\./.test(hostname)
}
