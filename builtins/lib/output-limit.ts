/** Maximum tokens of a tool's result for a model; each token is paid for again at every following step. */
export const RESULT_TOKENS = 8_000
/** Maximum tokens of a program's output for a model; the full output is kept in a file. */
export const PROGRAM_TOKENS = 2_000
/** Maximum share of a small context window for one result. */
const WINDOW_SHARE = 0.2
/** Maximum share of a context window for the offered tools. */
const TOOLS_SHARE = 0.2
/** Share of a result for the requested content; the rest is for the tool's remarks. */
const CONTENT_SHARE = 0.9

/**
 * Returns the maximum estimated tokens of one result.
 * @param use the model's context window, and the ratio of its token counts to our estimates; by default the largest
 * results are allowed
 */
export function resultTokens(
  { window, ratio = 1 }: { window: number; ratio?: number | undefined } = { window: Infinity },
) {
  return Math.min(RESULT_TOKENS, Math.floor((window / ratio) * WINDOW_SHARE))
}

/** Returns the maximum estimated tokens of the tools that a model is offered. */
export function toolTokens({ window, ratio = 1 }: { window: number; ratio?: number | undefined }): number {
  return Math.floor((window / ratio) * TOOLS_SHARE)
}

/**
 * Returns the tokens of a result that the requested content may use.
 * @param result_tokens tokens of the whole result
 */
export function contentTokens(result_tokens = RESULT_TOKENS): number {
  return Math.floor(result_tokens * CONTENT_SHARE)
}

/** Stands for the middle of an output that was left out. */
export function gap(size: string): string {
  return `\n[… ${size} are left out here …]\n`
}
