import type { ImageHeader } from './header.ts'

/**
 * Maximum length of an image's longer side, in pixels; models scale larger ones down themselves.
 * https://platform.claude.com/docs/en/build-with-claude/vision
 */
export const MAX_SIDE = 1568
/** Size above which files are compressed, in bytes. Twenty such files in base64 fit in a request of 32 MB. */
export const MAX_KEPT_BYTES = 1_000_000
const QUALITIES = [85, 70, 50]

export interface ScaledImage extends ImageHeader {
  bytes: Buffer
}

/** Returns whether an image can be stored unchanged. */
export function isSmall({ width, height }: ImageHeader, bytes: Buffer): boolean {
  return Math.max(width, height) <= MAX_SIDE && bytes.length <= MAX_KEPT_BYTES
}

/**
 * Decodes an image, which verifies that it is complete, and makes it small enough to store. libvips does the work in
 * its own threads.
 * @param max_pixels limit for decoding, whatever the header says
 * @returns undefined where the package sharp is not installed
 * @throws Error of sharp when the image cannot be decoded
 */
export async function scaleImage(
  bytes: Buffer,
  header: ImageHeader,
  max_pixels: number,
): Promise<ScaledImage | undefined> {
  const sharp = await load()
  if (!sharp) return undefined
  const open = () => sharp(bytes, { failOn: 'truncated', limitInputPixels: max_pixels })
  const { orientation = 1, pages = 1 } = await open().metadata()
  if (isSmall(header, bytes) && orientation === 1 && pages === 1) {
    await open().stats()
    return { ...header, bytes }
  }
  // Rotated upright, and without metadata such as the place and the camera.
  const small = open()
    .autoOrient()
    .resize({ width: MAX_SIDE, height: MAX_SIDE, fit: 'inside', withoutEnlargement: true })
  if (header.media_type === 'image/png') {
    const made = await small.clone().png().toBuffer({ resolveWithObject: true })
    if (made.data.length <= MAX_KEPT_BYTES) return scaledOf('image/png', made)
  }
  for (const quality of QUALITIES) {
    const made = await small
      .clone()
      .flatten({ background: 'white' })
      .jpeg({ quality })
      .toBuffer({ resolveWithObject: true })
    if (made.data.length <= MAX_KEPT_BYTES || quality === QUALITIES.at(-1)) return scaledOf('image/jpeg', made)
  }
  return undefined
}

type ImageOutput = { data: Buffer; info: { width: number; height: number } }

function scaledOf(media_type: 'image/png' | 'image/jpeg', { data, info }: ImageOutput): ScaledImage {
  return { media_type, width: info.width, height: info.height, bytes: data }
}

/** Loaded with the first image, because most processes never need it. */
async function load() {
  return import('sharp').then(
    ({ default: sharp }) => sharp,
    () => undefined,
  )
}
