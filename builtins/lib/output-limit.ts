/** Tokens of a tool's result that a model reads; every token is paid for again at each following step. */
const RESULT_TOKENS = 8_000

/** The same in characters, at four to a token. */
export const RESULT_CHARS = RESULT_TOKENS * 4
