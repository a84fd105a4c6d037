import { crc32, deflateSync } from 'node:zlib'

/** Returns a PNG of one colour, or of noise, which cannot be compressed. */
export function pngOf(
  width: number,
  height: number,
  colour: readonly [number, number, number] | 'noise' = [200, 30, 30],
) {
  const row = 1 + width * 3
  const pixels = Buffer.alloc(row * height)
  let noise = 1
  for (let y = 0; y < height; y++) {
    for (let at = 1; at < row; at++) {
      noise = (Math.imul(noise, 1_103_515_245) + 12_345) >>> 0
      pixels[y * row + at] = colour === 'noise' ? noise >>> 16 : colour[(at - 1) % 3]!
    }
  }
  return pngWith(width, height, deflateSync(pixels))
}

/** Returns a PNG whose header states this size, regardless of its data. */
export function pngWith(width: number, height: number, data: Buffer): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 2, 0, 0, 0], 8)
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))])
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}
