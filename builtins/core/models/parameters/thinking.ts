/** Models that think if an effort is set. */
export const THINKS_IF_ASKED = /\b(?:gpt-5\.[1-4]|claude-(?:opus|sonnet|haiku)-4|gemini-2\.5-flash-lite)/i

/**
 * Models that think unless they are asked not to, at any provider. Sources: the providers' documentation, read on
 * 2026-12-01. Models for one's own computer are left out: their windows have no space for long thoughts.
 */
export const THINKS = new RegExp(
  [
    /\b(?:o[1-9]|gpt-(?:5(?!\.[1-4])|[6-9]))/,
    /\bclaude-(?:fable|mythos|(?:opus|sonnet|haiku)-(?:[5-9]|\d\d)(?!\d))/,
    /\bgemini-(?:2\.5-(?:pro|flash(?!-lite))|[3-9])/,
    /\bdeepseek-(?:v[4-9]|reasoner)/,
    /\bgrok-[4-9](?!.*non-reasoning)/,
    /\b(?:kimi-k(?:2[.p][5-9]|2-thinking|[3-9])|glm-(?:4[.p][5-9]|[5-9])|minimax-m[2-9])/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'i',
)
