import type { ImageRef } from './contract.ts'

/** Returns the hashes of the images in messages, which are JSON. */
export function imagesIn(rows: readonly { message: string }[]): string[] {
  return rows.flatMap(({ message }) => {
    const { images } = JSON.parse(message) as { images?: ImageRef[] }
    return images?.map(({ sha256 }) => sha256) ?? []
  })
}
