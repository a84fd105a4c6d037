import { z } from '#kernel'
import { AMONG, defineEffect, insertInto, jsonList, listColumn, type Store } from '#platform/store/contract'
import { ImageRef } from './contract.ts'

const Kept = ImageRef.omit({ name: true }).extend({ data: z.string().describe('Image data, as base64') })
export type ImageRow = z.infer<typeof Kept>

/** Stores an image, or renews the date of an existing one. */
export const keepImage = defineEffect({
  name: 'images.keep',
  schema: Kept,
  statements: ({ sha256, media_type, width, height, bytes, data }, now) =>
    insertInto(
      'images',
      { sha256, media_type, width, height, bytes, data, kept_at: now },
      'ON CONFLICT (sha256) DO UPDATE SET kept_at = excluded.kept_at',
    ),
})

/** Removes images, except those stored again since. */
export const removeImages = defineEffect({
  name: 'images.remove',
  schema: z.object({ hashes: z.array(z.string()), before: z.int() }),
  statements: ({ hashes, before }) => ({
    sql: `DELETE FROM images WHERE kept_at < ? AND sha256 ${AMONG}`,
    params: [before, jsonList(hashes)],
  }),
})

export function findImages(store: Store, hashes: readonly string[]): Promise<ImageRow[]> {
  return store.all<ImageRow>(
    `SELECT sha256, media_type, width, height, bytes, data FROM images WHERE sha256 ${AMONG}`,
    [jsonList(hashes)],
  )
}

/** Returns the hashes of images stored before a time, oldest first. */
export function oldImages(store: Store, before: number): Promise<string[]> {
  return listColumn(store, 'SELECT sha256 FROM images WHERE kept_at < ? ORDER BY kept_at', [before])
}
