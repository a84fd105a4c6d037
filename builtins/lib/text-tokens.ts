/** Tokens per piece of text, fitted to the counts of four model tokenizers (test/support/model/token-counts.json). */
const TOKENS = {
  word: 1,
  /** A word that begins within another, with a capital or beside a digit, as in names, base64 and hashes. */
  inner_word: 1.4,
  /** Each letter of a word after the first `LONG_WORD`. */
  further_letter: 1 / 3,
  /** Up to three digits. */
  digits: 1.05,
  mark: 0.85,
  /** Each punctuation mark that follows another. */
  further_mark: 0.2,
  /** White space, except a single space, which belongs to the word after it. */
  spaces: 0.2,
  /**
   * Tokens per character: of Latin outside ASCII; of Greek, Cyrillic and the like; of any other script, where half an
   * emoji counts as one too.
   */
  latin: 1.15,
  greek: 0.45,
  other: 1.05,
}
const LONG_WORD = 5
const [LATIN_END, GREEK_END] = [0x250, 0x600]
const NEWLINE = 10

/** Maximum share of a text that one trimming step keeps, so that few steps are needed. */
const MOST_KEPT = 0.98

/**
 * Number of parts, and their length in characters, that are sampled from a longer text; counting each character of a
 * megabyte would be too slow.
 */
const PARTS = 8
const PART_CHARS = 2_500
/** Estimates the tokens of a text without a tokenizer. */
export function textTokens(text: string): number {
  if (text.length <= PARTS * PART_CHARS) return Math.ceil(tokensIn(text, 0, text.length))
  let tokens = 0
  for (let part = 0; part < PARTS; part++) {
    const from = Math.floor((part * (text.length - PART_CHARS)) / (PARTS - 1))
    tokens += tokensIn(text, from, from + PART_CHARS)
  }
  return Math.ceil((tokens / (PARTS * PART_CHARS)) * text.length)
}

const [SPACE, LOWER, UPPER, DIGIT, MARK] = [0, 1, 2, 3, 4]
/** Kind of each ASCII character. */
const KINDS = Uint8Array.from({ length: 128 }, (_, code) => kindOf(String.fromCharCode(code)))

function kindOf(char: string): number {
  const kinds = [/\s/, /[a-z]/, /[A-Z]/, /\d/]
  const kind = kinds.findIndex(pattern => pattern.test(char))
  return kind < 0 ? MARK : kind
}

/** Estimates the tokens of a part of a text, in one pass over its characters. */
function tokensIn(text: string, from: number, to: number): number {
  let tokens = 0
  let before = SPACE
  /** Number of characters in the current piece. */
  let run = 0
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at)
    if (code > 127) {
      tokens += code < LATIN_END ? TOKENS.latin : code < GREEK_END ? TOKENS.greek : TOKENS.other
      run = before === LOWER ? run + 1 : 1
      before = LOWER
      continue
    }
    const kind = KINDS[code]!
    const isCapitalized = kind === LOWER && before === UPPER && run === 1
    run = kind === before || isCapitalized ? run + 1 : 1
    if (kind === SPACE) tokens += run === 2 || (run === 1 && code === NEWLINE) ? TOKENS.spaces : 0
    else if (kind === DIGIT) tokens += run % 3 === 1 ? TOKENS.digits : 0
    else if (kind === MARK) tokens += run === 1 ? TOKENS.mark : TOKENS.further_mark
    else if (run === 1) tokens += before === SPACE || before === MARK ? TOKENS.word : TOKENS.inner_word
    else if (run > LONG_WORD) tokens += TOKENS.further_letter
    before = kind
  }
  return tokens
}

const ofObjects = new WeakMap<object, number>()

/** Estimates the tokens of an object as JSON. Such objects are immutable, so each is counted once. */
export function jsonTokens(value: object): number {
  let tokens = ofObjects.get(value)
  if (tokens === undefined) {
    tokens = textTokens(JSON.stringify(value))
    ofObjects.set(value, tokens)
  }
  return tokens
}

/** Returns the beginning of a text, with at most this number of tokens. Never splits a character. */
export function beginningWithin(text: string, tokens: number): string {
  return text
    .slice(
      0,
      charsWithin(text, tokens, chars => text.slice(0, chars)),
    )
    .replace(/[\ud800-\udbff]$/, '')
}

/** Returns the end of a text, with at most this number of tokens. Never splits a character. */
export function endWithin(text: string, tokens: number): string {
  const chars = charsWithin(text, tokens, chars => text.slice(text.length - chars))
  return text.slice(text.length - chars).replace(/^[\udc00-\udfff]/, '')
}

function charsWithin(text: string, tokens: number, part: (chars: number) => string): number {
  let chars = text.length
  for (let taken = textTokens(text); taken > tokens; taken = textTokens(part(chars))) {
    chars = Math.floor(chars * Math.min(tokens / taken, MOST_KEPT))
  }
  return chars
}
