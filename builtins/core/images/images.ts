import { hash } from 'node:crypto'
import { errorMessage, type PluginHandle } from '#kernel'
import { Store } from '#platform/store/contract'
import {
  type ImageRef,
  ImageRefusedError,
  type ImageSource,
  type Images,
  MAX_IMAGE_BYTES,
  MAX_IMAGE_PIXELS,
} from './contract.ts'
import { readHeader } from './header.ts'
import { findImages, keepImage } from './repository.ts'
import { isSmall, MAX_KEPT_BYTES, MAX_SIDE, type ScaledImage, scaleImage } from './scale.ts'

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** The images of conversations, in the database. */
export class KeptImages implements Images {
  readonly #svc: PluginHandle

  constructor(svc: PluginHandle) {
    this.#svc = svc
  }

  async keep({ data, name }: ImageSource): Promise<ImageRef> {
    const { bytes, media_type, width, height } = await checkImage(data).catch(error => {
      throw new ImageRefusedError({ name, problem: errorMessage(error).replace(/\.$/, '') })
    })
    const image = { sha256: hash('sha256', bytes), media_type, width, height, bytes: bytes.length }
    await this.#svc.use(Store).apply([keepImage({ ...image, data: bytes.toString('base64') })])
    return name ? { ...image, name } : image
  }

  /** Stores images one at a time, so that only one is decoded at once. */
  async keepAll(images: readonly ImageSource[]): Promise<ImageRef[]> {
    const kept: ImageRef[] = []
    for (const image of images) kept.push(await this.keep(image))
    return kept
  }

  async load(hashes: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (hashes.length === 0) return new Map()
    const found = await findImages(this.#svc.use(Store), hashes)
    return new Map(found.map(({ sha256, data }) => [sha256, data]))
  }
}

/** Returns an image that is complete, and small enough to store. @throws Error that names the problem and the limit */
async function checkImage(data: Uint8Array | string): Promise<ScaledImage> {
  const bytes = bytesOf(data)
  if (bytes.length > MAX_IMAGE_BYTES)
    throw tooLarge(`${megabytes(bytes.length)} MB`, `${megabytes(MAX_IMAGE_BYTES)} MB`)
  const header = readHeader(bytes)
  const { width, height } = header
  if (width * height > MAX_IMAGE_PIXELS)
    throw tooLarge(`${width} × ${height} pixels`, `${MAX_IMAGE_PIXELS / 1_000_000} million pixels`)
  const small = await scaleImage(bytes, header, MAX_IMAGE_PIXELS).catch(error => {
    throw new Error(`it cannot be decoded (${errorMessage(error).replace(/[.\s]+$/, '')})`)
  })
  if (small) return small
  if (isSmall(header, bytes)) return { ...header, bytes }
  throw new Error(
    `it has ${width} × ${height} pixels and ${bytes.length} bytes; without the package sharp, which scales images down, at most ${MAX_SIDE} pixels a side and ${MAX_KEPT_BYTES} bytes are accepted. Install it with "npm install sharp", or send a smaller image`,
  )
}

function bytesOf(data: Uint8Array | string): Buffer {
  if (typeof data !== 'string' && !ArrayBuffer.isView(data))
    throw new Error('its data is neither a Uint8Array nor base64')
  if (typeof data !== 'string') return Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  // The length is checked first, to avoid decoding data that is far too long.
  const length = Math.floor((data.length * 3) / 4)
  if (length > MAX_IMAGE_BYTES + 2) throw tooLarge(`${megabytes(length)} MB`, `${megabytes(MAX_IMAGE_BYTES)} MB`)
  if (!BASE64.test(data)) throw new Error('its data is not base64')
  return Buffer.from(data, 'base64')
}

function tooLarge(is: string, limit: string): Error {
  return new Error(`it has ${is}, and the maximum is ${limit}`)
}

function megabytes(bytes: number): number {
  return Math.ceil(bytes / 100_000) / 10
}
