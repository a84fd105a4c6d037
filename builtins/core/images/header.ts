import { IMAGE_TYPES, type ImageType } from './contract.ts'

/** Facts from the first bytes of an image. */
export interface ImageHeader {
  media_type: ImageType
  width: number
  height: number
}

/** Signatures of other file types that are mistaken for images, and their offsets. */
const OTHERS: readonly (readonly [name: string, at: number, begins: readonly string[]])[] = [
  ['a GIF', 0, ['GIF8']],
  ['a BMP', 0, ['BM']],
  ['a TIFF', 0, ['II*\0', 'MM\0*']],
  ['an AVIF or HEIC', 4, ['ftypavi', 'ftyphei', 'ftypmif1', 'ftypmsf1']],
  ['an icon', 0, ['\0\0\x01\0']],
  ['a PDF', 0, ['%PDF']],
]
const SVG = /^\s*<[\s\S]*<svg[\s>]|^\s*<svg[\s>]/

/**
 * Reads media type and size from the bytes, regardless of the file name.
 * @throws Error that names the actual type
 */
export function readHeader(bytes: Buffer): ImageHeader {
  const header = png(bytes) ?? webp(bytes) ?? jpeg(bytes)
  if (!header) {
    throw new Error(`it is ${kindOf(bytes)}; convert it to one of ${IMAGE_TYPES.join(', ')}`)
  }
  if (header.width < 1 || header.height < 1) throw new Error('its header gives a width or height of 0')
  return header
}

function kindOf(bytes: Buffer): string {
  const begin = bytes.toString('latin1', 0, 1_000)
  const found = OTHERS.find(([, at, begins]) => begins.some(each => begin.startsWith(each, at)))
  return found?.[0] ?? (SVG.test(bytes.toString('utf8', 0, 1_000)) ? 'an SVG' : 'not an image of a known format')
}

/** See https://www.w3.org/TR/png-3/#11IHDR; a complete file ends with IEND. */
function png(bytes: Buffer): ImageHeader | undefined {
  if (bytes.toString('latin1', 0, 8) !== '\x89PNG\r\n\x1a\n') return undefined
  if (bytes.length < 33 || bytes.lastIndexOf('IEND') < 0) throw cutOff()
  return { media_type: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

/** See https://developers.google.com/speed/webp/docs/riff_container; the file states its length. */
function webp(bytes: Buffer): ImageHeader | undefined {
  if (bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP') return undefined
  if (bytes.length < 30 || bytes.readUInt32LE(4) + 8 > bytes.length) throw cutOff()
  const media_type = 'image/webp'
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8X':
      return { media_type, width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21)
      return { media_type, width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    default:
      return { media_type, width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
  }
}

/**
 * Reads the size from the frame header: https://www.w3.org/Graphics/JPEG/itu-t81.pdf, B.2.2; a complete file has an end
 * marker.
 */
function jpeg(bytes: Buffer): ImageHeader | undefined {
  if (bytes.toString('latin1', 0, 3) !== '\xff\xd8\xff') return undefined
  for (let at = 2; at + 9 < bytes.length; at += 2 + bytes.readUInt16BE(at + 2)) {
    const marker = bytes[at + 1]!
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (!isFrame) continue
    if (bytes.lastIndexOf(Buffer.from([0xff, 0xd9])) < at) throw cutOff()
    return { media_type: 'image/jpeg', width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
  }
  throw cutOff()
}

function cutOff(): Error {
  return new Error('the file is cut off; send it whole')
}
