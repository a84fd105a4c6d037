import { imagesOf } from '#core/images/contract'
import type { SentImage, SentMessage } from '../contract.ts'
import { imageTokensBy } from './tokens.ts'

/**
 * Maximum number of images in one request. Anthropic takes 100, with 32 MB in total; many servers of open models far
 * fewer.
 */
const MAX_REQUEST_IMAGES = 20
/**
 * Above the maximum, the oldest images are left out in groups of this size, so that a request keeps its beginning
 * between calls.
 */
const GROUP = 10

const UNSEEN = 'this model cannot see images'
const TOO_MANY = `left out, because a request may contain at most ${MAX_REQUEST_IMAGES} images`

/** Whether any message has an image. */
export function hasImages(messages: readonly SentMessage[]): boolean {
  return messages.some(({ images }) => images && images.length > 0)
}

/**
 * Returns the text that replaces an image: `[Image "plan.png" (image/png, 800 × 600 pixels): this model cannot see
 * images.]`
 */
function imageLine({ name, media_type, width, height }: SentImage, why: string): string {
  return `[Image${name ? ` "${name}"` : ''} (${media_type}, ${width} × ${height} pixels): ${why}.]`
}

/** Returns the message with a line in the place of each image that is not among `kept`. */
export function withoutImages(message: SentMessage, why: string, kept: readonly SentImage[] = []): SentMessage {
  const { images = [], ...rest } = message
  const lines = images.filter(image => !kept.includes(image)).map(image => imageLine(image, why))
  return { ...rest, content: [message.content, ...lines].filter(Boolean).join('\n'), ...imagesOf(kept) }
}

/** Returns the messages with a line in the place of each image. */
export function nameImages(messages: readonly SentMessage[], why = UNSEEN): readonly SentMessage[] {
  return messages.map(message => (message.images?.length ? withoutImages(message, why) : message))
}

/** Messages as converted for a model, cached so that the tokens of each are counted only once. */
const made = new Map<string, WeakMap<SentMessage, SentMessage>>()

/**
 * Returns a conversation as sent to a model: the newest images, each with its tokens, and the others named in the text.
 * @param id `provider:model`
 */
export function selectImages(id: string, sees: boolean, messages: readonly SentMessage[]): readonly SentMessage[] {
  if (!hasImages(messages)) return messages
  const tokensOf = imageTokensBy(id)
  const count = messages.reduce((sum, { images = [] }) => sum + images.length, 0)
  let over = sees ? Math.ceil(Math.max(0, count - MAX_REQUEST_IMAGES) / GROUP) * GROUP : count
  return messages.map(message => {
    const { images = [] } = message
    if (images.length === 0) return message
    const dropped = Math.min(over, images.length)
    over -= dropped
    return memoizeMessage(`${id} ${sees} ${dropped}`, message, () => {
      const kept = images.slice(dropped)
      const shown = withoutImages(message, sees ? TOO_MANY : UNSEEN, kept)
      return { ...shown, ...imagesOf(kept.map(image => ({ ...image, tokens: tokensOf(image) }))) }
    })
  })
}

function memoizeMessage(kind: string, message: SentMessage, make: () => SentMessage): SentMessage {
  const known = made.get(kind) ?? new WeakMap()
  made.set(kind, known)
  const shown = known.get(message) ?? make()
  known.set(message, shown)
  return shown
}
