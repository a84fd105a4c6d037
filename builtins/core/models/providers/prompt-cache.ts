import { hash } from 'node:crypto'
import type { CallPurpose, ModelRequest } from '../contract.ts'

type Fields = Record<string, unknown>

/** Hints in a request about the parts of it that will be sent again, for servers of the protocol of OpenAI. */
export interface CacheHints {
  /** Fields of the request. */
  fields: Fields
  /** Field of the content that ends a part to be cached, such as the system prompt. */
  mark?: Fields
  /** Number of turns of the user and of tools, from the end, that get the mark too. Default: 0. */
  marked_turns?: number
  headers?: Record<string, string>
}

/** Servers that take hints, by the host of their URL or the provider's name. */
const SERVERS = {
  openai: /(^|\.)(openai|azure)\.com$/,
  openrouter: /^openrouter$|(^|\.)openrouter\.ai$/,
  mistral: /^mistral$|(^|\.)mistral\.ai$/,
  xai: /^xai$|(^|\.)x\.ai$/,
}
type CachingServer = keyof typeof SERVERS

/**
 * Models of OpenAI since GPT-5.6. They find what they cached only with a key and at marks, and charge a quarter more for
 * input that they cache.
 */
const PAID_WRITES = /^(?:openai\/)?gpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|\d\d)/
const CLAUDE = /^~?anthropic\//

/** Claude caches up to such a mark. The next step begins with the same text. */
export const CACHED = { cache_control: { type: 'ephemeral' } } as const
const BREAKPOINT = { prompt_cache_breakpoint: { mode: 'explicit' } }
/** Caches only what ends with a mark, and not the whole request. */
const ONLY_MARKED = { prompt_cache_options: { mode: 'explicit' } }

/**
 * Number of marked user turns for Claude: the last, and the one that the previous request ended with. Without a mark the
 * API looks for the end of that request only in the last 20 blocks, and one answer with many calls adds more.
 */
export const CACHED_TURNS = 2

/** Returns the server that an endpoint belongs to, if it takes hints. */
export function cachingServerOf({ name, base_url }: { name: string; base_url: string }): CachingServer | undefined {
  const host = URL.canParse(base_url) ? new URL(base_url).hostname : ''
  const all = Object.entries(SERVERS) as [CachingServer, RegExp][]
  return all.find(([, sign]) => sign.test(host) || sign.test(name))?.[0]
}

/** Returns whether the next request of a conversation begins with this one, so that it is worth caching. */
export function isContinued({ kind }: CallPurpose): boolean {
  return kind === 'goal_pursuit' || kind === 'task'
}

/**
 * Returns the hints for a request. Requests with the same key reach the machine that has their beginning in its cache;
 * each agent has a key of its own, since OpenAI advises at most 15 requests a minute for one. Sources:
 * https://developers.openai.com/api/docs/guides/prompt-caching,
 * https://openrouter.ai/docs/guides/features/prompt-caching,
 * https://docs.mistral.ai/studio-api/conversations/advanced/prompt-caching,
 * https://docs.x.ai/developers/advanced-api-usage/prompt-caching/maximizing-cache-hits
 */
export function cacheHints({ model, purpose }: ModelRequest, server: CachingServer | undefined): CacheHints {
  const isPaid = PAID_WRITES.test(model)
  // Gateways pass on what a model of OpenAI takes; other servers may refuse what they do not know.
  if (server === undefined && !isPaid) return { fields: {} }
  const key = hash('sha256', purpose.agent_id ?? purpose.task_id ?? purpose.kind).slice(0, 32)
  if (server === 'xai') return { fields: {}, headers: { 'x-grok-conv-id': key } }
  const session = server === 'openrouter' && { session_id: key }
  if (isPaid) {
    const fields = { ...session, prompt_cache_key: key, ...(isContinued(purpose) ? {} : ONLY_MARKED) }
    return { fields, mark: BREAKPOINT }
  }
  if (!session) return { fields: { prompt_cache_key: key } }
  if (!CLAUDE.test(model)) return { fields: session }
  return { fields: session, mark: CACHED, marked_turns: isContinued(purpose) ? CACHED_TURNS : 0 }
}
