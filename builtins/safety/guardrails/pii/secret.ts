import { fold } from '../fold.ts'
import { type InspectedText, PAUSE, type Span } from '../rule.ts'

/** Keys and tokens, by the prefixes of their providers. */
export const TOKENS: readonly RegExp[] = [
  // AWS, GitHub, GitLab, npm, PyPI, Docker
  /(?<![A-Za-z0-9])(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA)[A-Z0-9]{16}(?![A-Za-z0-9])/g,
  /(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{22}|glpat-[\w-]{20}|npm_[A-Za-z0-9]{36}|pypi-AgEI[\w-]{40}|dckr_pat_[\w-]{20})[\w-]{0,200}/g,
  // OpenAI, Anthropic, OpenRouter, Groq, Hugging Face, Fireworks, Replicate, Perplexity, xAI
  /(?<![A-Za-z0-9])(?:sk-[\w-]{20}|gsk_\w{20}|hf_[A-Za-z0-9]{30}|fw_[A-Za-z0-9]{20}|r8_[A-Za-z0-9]{30}|pplx-[A-Za-z0-9]{32}|xai-[A-Za-z0-9]{32})[\w-]{0,200}/g,
  // Google
  /(?<![A-Za-z0-9])(?:AIza[\w-]{35}|ya29\.[\w-]{20}|GOCSPX-[\w-]{20})[\w-]{0,200}/g,
  // Slack, Discord, Telegram
  /(?<![A-Za-z0-9])(?:xox[abeoprs]-[\w-]{10}|xapp-\d-[\w-]{10})[\w-]{0,200}/g,
  /hooks\.slack\.com\/services\/T\w{6,12}\/B\w{6,12}\/\w{16,32}/g,
  /(?<![\w-])[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])/g,
  /(?<![\w-])\d{8,10}:AA[\w-]{33}(?![\w-])/g,
  // Stripe, SendGrid, Twilio, Shopify, DigitalOcean, Databricks, Vault, Linear, Notion, Square, age
  /(?<![A-Za-z0-9])(?:[rs]k_(?:live|test)_[A-Za-z0-9]{16}|whsec_[A-Za-z0-9+/]{20}|SG\.[\w-]{16,32}\.[\w-]{16}|shp(?:at|ca|pa|ss)_[a-f0-9]{32}|do[opr]_v1_[a-f0-9]{64}|hv[sbr]\.[\w-]{20}|lin_api_\w{30}|(?:ntn|secret)_[A-Za-z0-9]{40}|sq0[a-z]{3}-[\w-]{22}|AGE-SECRET-KEY-1[A-Z0-9]{58})[\w-]{0,200}/g,
  /(?<![A-Za-z0-9])(?:SK|AC)[a-f0-9]{32}(?![A-Za-z0-9])/g,
  /(?<![A-Za-z0-9])dapi[a-f0-9]{32}(?![A-Za-z0-9])/g,
  // JSON web tokens
  /(?<![\w-])eyJ[\w-]{8,1000}\.eyJ[\w-]{8,2000}(?:\.[\w-]{0,1000})?/g,
  // Private keys, also without their last line
  /-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----[^-]{0,3900}(?:-----END [A-Z0-9 ]{1,40}-----)?/g,
  // user:password in a URL, and Authorization headers
  /(?<=:\/\/)[^\s:/@"'<>]{1,64}:[^\s/@"'<>]{1,128}(?=@)/g,
  /(?<=\b(?:bearer|basic) )[\w.~+/-]{20,}={0,2}/gi,
  // Azure
  /(?<=\bAccountKey=)[A-Za-z0-9+/]{40,}={0,2}/g,
]
/** A value after a name such as `api_key`; it counts only if it looks random. */
export const ASSIGNED =
  /\b(?:api[_-]?key|secret(?:[_-]?key)?|access[_-]?(?:key|token)|auth[_-]?token|private[_-]?key|client[_-]?secret|password|passwd)["']?\s{0,3}[:=]\s{0,3}["']?([A-Za-z0-9+/_=.-]{16,256})/gi

/** Minimum length of a secret; shorter ones would redact ordinary words. */
const SHORTEST_SECRET = 8

/** Returns a finder of secrets. @param own returns the project's secret values, called at each check */
export function findSecrets(own: () => readonly string[]) {
  return function* find({ text, matches }: InspectedText): Generator<Span> {
    for (const token of TOKENS) {
      yield* matches(token)
      yield PAUSE
    }
    for (const { end, found } of matches(ASSIGNED)) {
      const [, value = ''] = found
      if (isRandom(value)) yield { start: end - value.length, end }
    }
    for (const secret of own()) {
      if (secret.length < SHORTEST_SECRET) continue
      const wanted = fold(secret).text
      for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
        yield { start: at, end: at + wanted.length }
      }
    }
  }
}

/**
 * Returns whether a value looks random: digits and letters of both cases, or hexadecimal, and neither a path nor a
 * call.
 */
function isRandom(value: string): boolean {
  if (/^[a-f0-9]{32,}$/i.test(value)) return true
  const kinds = [/[a-z]/, /[A-Z]/, /\d/].filter(kind => kind.test(value)).length
  return kinds === 3 && new Set(value).size >= 10 && !/\.[a-z]{2,}/i.test(value)
}
