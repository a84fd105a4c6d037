import { jsonTokens, textTokens } from '#lib/text-tokens'
import type { SentImage, SentMessage, ToolSpec } from '../contract.ts'

/** Tokens of the role and separators of one message. */
const MESSAGE_TOKENS = 4

const ofMessages = new WeakMap<SentMessage, number>()

/**
 * Estimates the tokens of one message with its tool calls and `provider_data`. Messages do not change, so the count is
 * cached.
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

const ofTools = new WeakMap<readonly ToolSpec[], number>()

/** Estimates the tokens of the offered tools. Their list is immutable, so it is counted once. */
export function toolsTokens(tools: readonly ToolSpec[]): number {
  let tokens = ofTools.get(tools)
  if (tokens === undefined) {
    tokens = tools.reduce((sum, tool) => sum + jsonTokens(tool), 0)
    ofTools.set(tools, tokens)
  }
  return tokens
}

type Size = Pick<SentImage, 'width' | 'height'>

/** Estimates the tokens of an image, by its model's formula where that is known. */
function imageTokens(image: SentImage): number {
  return image.tokens ?? smallPatches(image)
}

/** Returns the formula by which a model's provider counts the tokens of an image. @param id `provider:model` */
export function imageTokensBy(id: string): (image: Size) => number {
  if (/^anthropic:|claude/.test(id)) return area
  if (/gemini|gemma/.test(id)) return crops
  if (/gpt-4o|gpt-4\.1$|^openai:o[13]/.test(id)) return tiles
  return /^openai:|gpt-/.test(id) ? patches : smallPatches
}

/** Counts by area: https://platform.claude.com/docs/en/build-with-claude/vision */
function area({ width, height }: Size): number {
  return Math.ceil((width * height) / 750)
}

/** Counts squares of 768 pixels, or one for a small image: https://ai.google.dev/gemini-api/docs/tokens */
function crops({ width, height }: Size): number {
  if (Math.max(width, height) <= 384) return 258
  return Math.ceil(width / 768) * Math.ceil(height / 768) * 258
}

/**
 * Counts squares of 512 pixels after scaling the shorter side to 768:
 * https://developers.openai.com/api/docs/guides/images-vision
 */
function tiles({ width, height }: Size): number {
  const scale = Math.min(1, 768 / Math.min(width, height))
  return 85 + 170 * Math.ceil((width * scale) / 512) * Math.ceil((height * scale) / 512)
}

/**
 * Counts squares of 32 pixels; small models multiply the count by up to 2.46:
 * https://developers.openai.com/api/docs/guides/images-vision
 */
function patches({ width, height }: Size): number {
  return Math.ceil(2.46 * Math.min(Math.ceil(width / 32) * Math.ceil(height / 32), 1536))
}

/**
 * Counts squares of 28 pixels, like Mistral and Qwen: https://docs.mistral.ai/capabilities/vision,
 * https://github.com/QwenLM/Qwen3-VL
 */
function smallPatches({ width, height }: Size): number {
  return Math.ceil(width / 28) * Math.ceil(height / 28)
}
