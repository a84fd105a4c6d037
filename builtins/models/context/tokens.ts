import type { Message, ToolSpec } from '../contract.ts'

/** English text and code have about four characters a token: https://help.openai.com/en/articles/4936856 */
const CHARS_PER_TOKEN = 4
/** Scripts outside ASCII, and half an emoji, need about as many tokens as they have UTF-16 units; errs on the safe side. */
const TOKENS_PER_WIDE_CHAR = 1.25
/** Texts beyond this are sampled: counting each character of a megabyte would cost more than it is worth. */
const SAMPLED_CHARS = 20_000
/** What the roles and separators of one message take. */
const MESSAGE_TOKENS = 4

const ofMessages = new WeakMap<Message, number>()
const ofTools = new WeakMap<readonly ToolSpec[], number>()

/** Estimates the tokens of a text without a tokenizer. */
export function textTokens(text: string): number {
  const sample = text.length > SAMPLED_CHARS ? text.slice(0, SAMPLED_CHARS) : text
  const wide = sample.match(/\P{ASCII}/gu)?.length ?? 0
  const each = (sample.length - wide) / CHARS_PER_TOKEN + wide * TOKENS_PER_WIDE_CHAR
  return Math.ceil(sample === text ? each : (each / sample.length) * text.length)
}

/**
 * Estimates the tokens of one message with its tool calls and what its provider wants back. Messages do not change, so each is
 * counted once.
 */
export function messageTokens(message: Message): number {
  let tokens = ofMessages.get(message)
  if (tokens === undefined) {
    const calls = message.tool_calls?.length ? JSON.stringify(message.tool_calls) : ''
    const kept = message.provider_data ? JSON.stringify(message.provider_data.fields) : ''
    tokens = MESSAGE_TOKENS + textTokens(message.content) + textTokens(calls) + textTokens(kept)
    ofMessages.set(message, tokens)
  }
  return tokens
}

/** Estimates the tokens of a list of messages. */
export function messagesTokens(messages: readonly Message[]): number {
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
