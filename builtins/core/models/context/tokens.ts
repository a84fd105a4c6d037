import type { SentImage, SentMessage, ToolSpec } from '../contract.ts'

/**
 * Tokens of the pieces that the tokenizers of models cut texts into, fitted to the counts of four of them
 * (test/support/model/token-counts.json).
 */
const TOKENS = {
  word: 1,
  /** A word that begins within another, with a capital or beside a digit, as in names, base64 and hashes. */
  inner_word: 1.4,
  /** Each letter of a word beyond `LONG_WORD`. */
  further_letter: 1 / 3,
  /** Up to three digits. */
  digits: 1.05,
  mark: 0.85,
  /** Each mark that follows another. */
  further_mark: 0.2,
  /** White space but for a single space, which belongs to the word behind it. */
  spaces: 0.2,
  /** A character of Latin outside ASCII, of Greek, Cyrillic and the like, and of any other script; half an emoji is one too. */
  latin: 1.15,
  greek: 0.45,
  other: 1.05,
}
const LONG_WORD = 5
const [LATIN_END, GREEK_END] = [0x250, 0x600]
const NEWLINE = 10

/** Of a longer text as many parts of this length are counted: each character of a megabyte would cost more than it is worth. */
const PARTS = 8
const PART_CHARS = 2_500
/** What the roles and separators of one message take. */
const MESSAGE_TOKENS = 4

const ofMessages = new WeakMap<SentMessage, number>()
const ofTools = new WeakMap<readonly ToolSpec[], number>()

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
/** Of each character of ASCII. */
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
  /** Characters of the piece so far. */
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

/**
 * Estimates the tokens of one message with its tool calls and what its provider wants back. Messages do not change, so each is
 * counted once.
 */
export function messageTokens(message: SentMessage): number {
  let tokens = ofMessages.get(message)
  if (tokens === undefined) {
    const calls = message.tool_calls?.length ? JSON.stringify(message.tool_calls) : ''
    const images = message.images?.reduce((sum, image) => sum + imageTokens(image), 0) ?? 0
    const kept = message.provider_data ? JSON.stringify(message.provider_data.fields) : ''
    tokens = MESSAGE_TOKENS + textTokens(message.content) + textTokens(calls) + textTokens(kept) + images
    ofMessages.set(message, tokens)
  }
  return tokens
}

/** Estimates the tokens of a list of messages. */
export function messagesTokens(messages: readonly SentMessage[]): number {
  return messages.reduce((sum, message) => sum + messageTokens(message), 0)
}

/** Estimates the tokens of the tools on offer. */
export function toolsTokens(tools: readonly ToolSpec[]): number {
  let tokens = ofTools.get(tools)
  if (tokens === undefined) {
    tokens = tools.length > 0 ? textTokens(JSON.stringify(tools)) : 0
    ofTools.set(tools, tokens)
  }
  return tokens
}

type Size = Pick<SentImage, 'width' | 'height'>

/** Estimates the tokens of an image, by its model's formula where that is known. */
export function imageTokens(image: SentImage): number {
  return image.tokens ?? smallPatches(image)
}

/** Returns the formula by which a model's provider counts the tokens of an image. @param id `provider:model` */
export function imageTokensBy(id: string): (image: Size) => number {
  if (/^anthropic:|claude/.test(id)) return area
  if (/gemini|gemma/.test(id)) return crops
  if (/gpt-4o|gpt-4\.1$|^openai:o[13]/.test(id)) return tiles
  return /^openai:|gpt-/.test(id) ? patches : smallPatches
}

/** https://platform.claude.com/docs/en/build-with-claude/vision */
function area({ width, height }: Size): number {
  return Math.ceil((width * height) / 750)
}

/** Squares of 768 pixels, or one for what is small: https://ai.google.dev/gemini-api/docs/tokens */
function crops({ width, height }: Size): number {
  if (Math.max(width, height) <= 384) return 258
  return Math.ceil(width / 768) * Math.ceil(height / 768) * 258
}

/** Squares of 512 pixels once the shorter side has 768: https://developers.openai.com/api/docs/guides/images-vision */
function tiles({ width, height }: Size): number {
  const scale = Math.min(1, 768 / Math.min(width, height))
  return 85 + 170 * Math.ceil((width * scale) / 512) * Math.ceil((height * scale) / 512)
}

/** Squares of 32 pixels; small models count them up to 2.46 times: https://developers.openai.com/api/docs/guides/images-vision */
function patches({ width, height }: Size): number {
  return Math.ceil(2.46 * Math.min(Math.ceil(width / 32) * Math.ceil(height / 32), 1536))
}

/**
 * Squares of 28 pixels, as Mistral and Qwen have them: https://docs.mistral.ai/capabilities/vision,
 * https://github.com/QwenLM/Qwen3-VL
 */
function smallPatches({ width, height }: Size): number {
  return Math.ceil(width / 28) * Math.ceil(height / 28)
}
