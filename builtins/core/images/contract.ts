import { defineError, type PluginHandle, point, token, z } from '#kernel'

export { imagesIn } from './in-messages.ts'

/** Media types that every model with vision accepts. */
export const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/webp'] as const
export type ImageType = (typeof IMAGE_TYPES)[number]

/** Maximum size of an image, in bytes and in pixels. */
export const MAX_IMAGE_BYTES = 10_000_000
export const MAX_IMAGE_PIXELS = 50_000_000
/** Maximum number of images in one message. */
export const MAX_IMAGES = 4
/** Maximum body size of a request with images, in bytes: base64 is a third longer than the image. */
export const IMAGES_BODY_BYTES = 16 * 1024 * 1024

/** An image of a message, identified by the hash under which it is stored. */
export const ImageRef = z
  .object({
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .meta({ examples: ['0123456789abcdef'.repeat(4)] }),
    media_type: z.enum(IMAGE_TYPES),
    width: z.int().min(1).describe('Width in pixels'),
    height: z.int().min(1).describe('Height in pixels'),
    bytes: z.int().min(1),
    name: z.string().max(200).optional().describe('File name, as given'),
  })
  .meta({ id: 'ImageRef' })
export type ImageRef = z.infer<typeof ImageRef>

/** An image in a request. */
export const ImageInput = z.strictObject({
  data: z
    .base64()
    .min(1)
    .max(Math.ceil(MAX_IMAGE_BYTES / 3) * 4)
    .describe(`PNG, JPEG or WebP image in base64; at most ${MAX_IMAGE_BYTES / 1_000_000} MB`),
  name: z.string().max(200).optional().describe('File name of the image'),
})
export const ImageInputs = z
  .array(ImageInput)
  .max(MAX_IMAGES)
  .default([])
  .describe(
    `Images to look at, at most ${MAX_IMAGES}; the maximum size of the request is ${IMAGES_BODY_BYTES / 1024 / 1024} MiB`,
  )
export type ImageInputs = z.infer<typeof ImageInputs>

/** Bytes of an image, or their base64. */
export interface ImageSource {
  data: Uint8Array | string
  name?: string | undefined
}

/** A tool result with text and images. */
export class ToolImages {
  readonly text: string
  readonly images: readonly ImageSource[]

  constructor(text: string, images: readonly ImageSource[]) {
    this.text = text
    this.images = images
  }

  /** Returns the text alone, where images cannot be shown. */
  toString(): string {
    return this.text
  }
}

/**
 * Returns a tool result with images, for models that can see them.
 * @example execute: async () => withImages('The page as it looks now.', { data: await page.screenshot(), name:
 * 'page.png' })
 */
export function withImages(text: string, ...images: readonly ImageSource[]): ToolImages {
  return new ToolImages(text, images)
}

/** Stores the images of conversations, each once. */
export interface Images {
  /**
   * Checks an image, scales it down to the size that models use, and stores it.
   * @throws ImageRefusedError
   */
  keep(image: ImageSource): Promise<ImageRef>
  /** Stores several images in order. @throws ImageRefusedError for the first that is refused */
  keepAll(images: readonly ImageSource[]): Promise<ImageRef[]>
  /** Returns the base64 of stored images by hash; missing ones are left out. */
  load(hashes: readonly string[]): Promise<ReadonlyMap<string, string>>
}
export const Images = token<Images>('images')

/** Reports the stored images that messages still refer to. Old images that no holder reports are removed. */
export interface ImageHolder {
  name: string
  /** Returns the hashes of referenced images; with an agent, of those in its messages and current work. */
  heldHashes(agent_id?: string): Promise<readonly string[]>
}
export const ImageHolders = point<ImageHolder>('image_holders', {
  key: holder => holder.name,
  has: { name: 'text', heldHashes: 'function' },
})

/** Stores the images of a request. @throws ImageRefusedError */
export async function keepGiven(svc: PluginHandle, given: ImageInputs): Promise<ImageRef[]> {
  return given.length > 0 ? svc.use(Images).keepAll(given) : []
}

/** Returns whether bytes begin like an image of a supported type. */
export function isImage(bytes: Buffer): boolean {
  const begin = bytes.toString('latin1', 0, 12)
  return /^(\x89PNG|\xff\xd8\xff|RIFF.{4}WEBP)/s.test(begin)
}

/** SQL condition: whether a message, as JSON, has images. It must match the one of the indexes. */
export const WITH_IMAGES = `message LIKE '%"images":[{%'`

/** Parses images stored as JSON in a column. */
export function readImages(json: string | null): ImageRef[] {
  return json === null ? [] : (JSON.parse(json) as ImageRef[])
}

/** Returns the JSON of images for a column; null for no images. */
export function writeImages(images: readonly ImageRef[]): string | null {
  return images.length > 0 ? JSON.stringify(images) : null
}

/** Returns a message's `images` field; no field where there are none. */
export function imagesOf(images: readonly ImageRef[]): { images?: ImageRef[] } {
  return images.length > 0 ? { images: [...images] } : {}
}

export class ImageRefusedError extends defineError({
  code: 'image_refused',
  status: 422,
  title: 'Image refused',
  message: (p: { name: string | undefined; problem: string }) =>
    `The image ${p.name ? `"${p.name}" ` : ''}is not accepted: ${p.problem}.`,
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
