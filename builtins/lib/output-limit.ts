/** Tokens of a tool's result that a model reads at most; every token is paid for again at each following step. */
export const RESULT_TOKENS = 8_000
/** The same of what a program wrote, of which all is kept in a file. */
export const PROGRAM_TOKENS = 2_000
/** In a small context window a result takes at most this share. */
const WINDOW_SHARE = 0.2
/** Share of a result for what was asked for; the rest is for what the tool says of it. */
const CONTENT_SHARE = 0.9

/**
 * Returns the tokens that one result may take, by our estimate.
 * @param use the window of the model that reads it, and how it counts; the largest results without
 */
export function resultTokens(
  { window, ratio = 1 }: { window: number; ratio?: number | undefined } = { window: Infinity },
) {
  return Math.min(RESULT_TOKENS, Math.floor((window / ratio) * WINDOW_SHARE))
}

/** Returns the tokens that a tool may fill with what it was asked for. @param result_tokens of the whole result */
export function contentTokens(result_tokens = RESULT_TOKENS): number {
  return Math.floor(result_tokens * CONTENT_SHARE)
}
