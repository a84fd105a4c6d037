import { defineError, type PluginHandle, point, token, z } from '#kernel'

export { imagesIn } from './in-messages.ts'

/** Media types that every model with sight takes. */
export const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/webp'] as const
export type ImageType = (typeof IMAGE_TYPES)[number]

/** Largest image that is taken, in bytes and in pixels. */
export const MAX_IMAGE_BYTES = 10_000_000
export const MAX_IMAGE_PIXELS = 50_000_000
/** Images of one message. */
export const MAX_IMAGES = 4
/** Largest body of a request that may carry images, in bytes: their base64 is a third longer than they are. */
export const IMAGES_BODY_BYTES = 16 * 1024 * 1024

/** An image of a message, by the hash under which it is kept. */
export const ImageRef = z
  .object({
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .meta({ examples: ['0123456789abcdef'.repeat(4)] }),
    media_type: z.enum(IMAGE_TYPES),
    width: z.number().int().min(1).describe('Pixels'),
    height: z.number().int().min(1).describe('Pixels'),
    bytes: z.number().int().min(1),
    name: z.string().max(200).optional().describe('Name of its file, as it was given'),
  })
  .meta({ id: 'ImageRef' })
export type ImageRef = z.infer<typeof ImageRef>

/** An image that comes with a request. */
export const ImageInput = z.strictObject({
  data: z
    .base64()
    .min(1)
    .max(Math.ceil(MAX_IMAGE_BYTES / 3) * 4)
    .describe(`The bytes of a PNG, JPEG or WebP in base64; at most ${MAX_IMAGE_BYTES / 1_000_000} MB`),
  name: z.string().max(200).optional().describe('Name of its file'),
})
export const ImageInputs = z
  .array(ImageInput)
  .max(MAX_IMAGES)
  .default([])
  .describe(`Images to look at, at most ${MAX_IMAGES}; the request has at most ${IMAGES_BODY_BYTES / 1024 / 1024} MiB`)
export type ImageInputs = z.infer<typeof ImageInputs>

/** Bytes of an image, or their base64. */
export interface ImageSource {
  data: Uint8Array | string
  name?: string | undefined
}

/** What a tool returns that gives images beside its text. */
export class ToolImages {
  readonly text: string
  readonly images: readonly ImageSource[]

  constructor(text: string, images: readonly ImageSource[]) {
    this.text = text
    this.images = images
  }

  /** The text alone, for what shows no images. */
  toString(): string {
    return this.text
  }
}

/**
 * Returns a tool's result with images, which the model sees where it can.
 * @example execute: async () => withImages('The page as it looks now.', { data: await page.screenshot(), name: 'page.png' })
 */
export function withImages(text: string, ...images: readonly ImageSource[]): ToolImages {
  return new ToolImages(text, images)
}

/** Keeps the images of conversations, each once. */
export interface Images {
  /**
   * Checks an image, scales it down to what models look at, and keeps it.
   * @throws ImageRefusedError
   */
  keep(image: ImageSource): Promise<ImageRef>
  /** Keeps several, one after another. @throws ImageRefusedError for the first that is not taken */
  keepAll(images: readonly ImageSource[]): Promise<ImageRef[]>
  /** Base64 of kept images by hash; those that are gone are left out. */
  load(hashes: readonly string[]): Promise<ReadonlyMap<string, string>>
}
export const Images = token<Images>('images')

/** Knows which kept images messages still refer to: what no holder names is removed when it is old. */
export interface ImageHolder {
  name: string
  /** Hashes of the images that are referred to; with an agent, by what that agent was sent and is doing. */
  heldHashes(agent_id?: string): Promise<readonly string[]>
}
export const ImageHolders = point<ImageHolder>('image_holders', {
  key: holder => holder.name,
  has: { name: 'text', heldHashes: 'function' },
})

/** Keeps the images of a request. @throws ImageRefusedError */
export async function keepGiven(svc: PluginHandle, given: ImageInputs): Promise<ImageRef[]> {
  return given.length > 0 ? svc.use(Images).keepAll(given) : []
}

/** Whether bytes begin as an image that is taken does. */
export function isImage(bytes: Buffer): boolean {
  const begin = bytes.toString('latin1', 0, 12)
  return /^(\x89PNG|\xff\xd8\xff|RIFF.{4}WEBP)/s.test(begin)
}

/** In SQL: whether the JSON of a message has images; as in the indexes. */
export const WITH_IMAGES = `message LIKE '%"images":[{%'`

/** Returns images that a column keeps as JSON. */
export function readImages(json: string | null): ImageRef[] {
  return json === null ? [] : (JSON.parse(json) as ImageRef[])
}

/** Returns what such a column keeps; null for no images. */
export function writeImages(images: readonly ImageRef[]): string | null {
  return images.length > 0 ? JSON.stringify(images) : null
}

/** Returns a message's `images`, absent where there are none. */
export function imagesOf(images: readonly ImageRef[]): { images?: ImageRef[] } {
  return images.length > 0 ? { images: [...images] } : {}
}

export class ImageRefusedError extends defineError({
  code: 'image_refused',
  status: 422,
  title: 'Image refused',
  message: (p: { name: string | undefined; problem: string }) =>
    `The image ${p.name ? `"${p.name}" ` : ''}is not taken: ${p.problem}.`,
}) {
  override name = 'ImageRefusedError'
}
export const ImageNotFoundError = defineError({
  code: 'image_not_found',
  status: 404,
  title: 'Image not found',
  message: (p: { sha256: string }) =>
    `There is no image ${p.sha256}. Images are removed once no kept message refers to them.`,
})
