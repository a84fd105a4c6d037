import { z } from '#kernel'
import { ModelParameters } from './parameters/contract.ts'
import { isKnownProvider, ProviderSettings } from './providers/endpoints.ts'

/** Keys that turn an entry into a custom provider, which must have an address. */
const MAKING = ['api_key_env', 'model', 'tiers', 'free'] as const

function faultOfProvider(name: string, settings: ProviderSettings): string | undefined {
  if (!/^[a-z][a-z0-9_-]{0,31}$/.test(name)) return 'the name must consist of lower-case letters, digits, "_" and "-"'
  if (settings.base_url || isKnownProvider(name) || !MAKING.some(key => key in settings)) return undefined
  return 'needs a base_url: no provider of this name is known'
}

export const ModelConfig = z.object({
  default_model: z
    .string()
    .max(200)
    .default('')
    .meta({ env: 'SVC_DEFAULT_MODEL' })
    .describe(
      "Model of agents that name none; if empty, OpenAI's when its key or base URL is set; else the one that the environment set at an earlier start; else sim/rules-1",
    ),
  planning_model: z
    .string()
    .max(200)
    .default('')
    .describe("Model that chooses agents' goals; empty for the agent's own"),
  max_tokens: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(4096)
    .describe('Maximum number of output tokens of one call, for profiles that set none'),
  temperature: z.number().min(0).max(2).default(0).describe('Temperature for profiles and models that set none'),
  parameters: ModelParameters.default({}).describe(
    'Default parameters of model calls; those of the provider, models.yaml, the profile or the task take precedence',
  ),
  ollama_base_url: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .default('http://localhost:11434')
    .meta({ env: 'OLLAMA_BASE_URL' })
    .describe('Base URL of Ollama'),
  providers: z
    .record(z.string(), ProviderSettings)
    .superRefine((providers, context) => {
      for (const [name, settings] of Object.entries(providers)) {
        const message = faultOfProvider(name, settings)
        if (message) context.addIssue({ code: 'custom', path: [name], message })
      }
    })
    .default({})
    .describe('Providers by name: further servers with the protocol of OpenAI, and other settings for known providers'),
  context_limit: z
    .int()
    .min(8_000)
    .max(100_000_000)
    .default(256_000)
    .describe(
      "Tokens of a conversation that count as its context window, however large the model's is: a long conversation costs more in each step, and models follow it less well",
    ),
  context_full: z
    .number()
    .min(0.2)
    .max(0.95)
    .default(0.75)
    .describe("Share of a model's context window at which a conversation is shortened"),
  context_target: z
    .number()
    .min(0.1)
    .max(0.9)
    .default(0.45)
    .describe('Maximum share of the context window for a shortened conversation'),
  summary: z
    .boolean()
    .default(true)
    .describe(
      'Whether a model writes a summary of the part that is left out of a long pursuit; otherwise a rule-based digest replaces it',
    ),
  summary_model: z.string().max(200).default('').describe("Model that writes summaries; empty for the agent's own"),
  idle_timeout: z
    .number()
    .positive()
    .default(30)
    .describe(
      'Seconds without a chunk after which a stream counts as stalled; for Ollama, which sends a tool call in one chunk, four times as long, and at most half of total_timeout; while a model thinks, first_byte_timeout applies',
    ),
  first_byte_timeout: z
    .number()
    .min(0)
    .default(0)
    .describe(
      'Maximum time until the first chunk of an answer, in seconds; 0 means four times idle_timeout, or eight times for your own servers, which may load the model first, and at most total_timeout',
    ),
  total_timeout: z
    .number()
    .positive()
    .default(240)
    .describe('Maximum duration of one call from its first chunk on, with all its retries, in seconds'),
  retry_delay: z
    .number()
    .min(0)
    .default(0.5)
    .describe('Seconds before the first retry; doubled with each further retry'),
  retry_cap: z
    .number()
    .min(0)
    .default(60)
    .describe('Maximum wait before a retry in seconds, even if Retry-After asks for more'),
  max_concurrent: z
    .int()
    .min(0)
    .default(0)
    .describe('Maximum number of concurrent attempts at one provider from one process; 0 sets no limit'),
  breaker_failures: z
    .int()
    .min(0)
    .default(5)
    .describe('Number of consecutive failed attempts after which a provider is suspended; 0 never suspends'),
  breaker_cooldown: z.number().positive().default(10).describe('Duration of the suspension of a provider, in seconds'),
  sim_delay: z
    .number()
    .min(0)
    .max(60)
    .default(0.4)
    .describe('Duration of an answer of the simulated model, in seconds'),
})
export type ModelConfig = z.infer<typeof ModelConfig>

export const RetryConfig = z.object({
  max_retries: z
    .int()
    .min(0)
    .default(2)
    .meta({ reload: 'restart_required', env: 'SVC_MAX_RETRIES' })
    .describe('Number of retries of a failed model call'),
})

/**
 * Factors of the first-byte limit. The user's own servers may have to load the model, or read a long prompt slowly,
 * before they answer.
 */
const [FIRST_BYTE_FACTOR, OWN_SERVER_FACTOR] = [4, 8]
/** Factor of the limit between two chunks for Ollama. */
const OLLAMA_IDLE_FACTOR = 4

type Timeouts = Readonly<Pick<ModelConfig, 'idle_timeout' | 'first_byte_timeout' | 'total_timeout'>>

/**
 * Returns the maximum wait for the first chunk of an answer, in seconds. @param own whether the server is the user's
 * own
 */
export function firstByteTimeout({ first_byte_timeout, idle_timeout, total_timeout }: Timeouts, own: boolean): number {
  return first_byte_timeout || Math.min(idle_timeout * (own ? OWN_SERVER_FACTOR : FIRST_BYTE_FACTOR), total_timeout)
}

/**
 * Returns the maximum waits for the first chunk of an answer and between two chunks, in seconds. Ollama sends a tool call
 * in one chunk, which it may take minutes to write (issues 14858, 16279).
 */
export function chunkTimeouts(
  timeouts: Timeouts,
  { name, free }: { name: string; free?: boolean | undefined },
): Omit<Timeouts, 'total_timeout'> {
  const { idle_timeout: idle, total_timeout } = timeouts
  return {
    first_byte_timeout: firstByteTimeout(timeouts, free === true),
    idle_timeout: name === 'ollama' ? Math.max(idle, Math.min(idle * OLLAMA_IDLE_FACTOR, total_timeout / 2)) : idle,
  }
}

/** Returns the maximum duration of one call with all its retries, in milliseconds. */
export function longestCallMs(timeouts: Timeouts): number {
  const { total_timeout } = timeouts
  return (total_timeout + Math.max(total_timeout, firstByteTimeout(timeouts, true))) * 1000
}
