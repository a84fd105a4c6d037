import type { PluginHandle } from '#kernel'
import { RetentionRules } from '#platform/retention/contract'
import { Store } from '#platform/store/contract'
import { ImageHolders } from './contract.ts'
import { oldImages, removeImages } from './repository.ts'

/** Registers the retention of old images that no stored message refers to. */
export function imagesForget(svc: PluginHandle): void {
  const findUnusedImages = async (before: number): Promise<string[]> => {
    const old = await oldImages(svc.use(Store), before)
    if (old.length === 0) return []
    const held = await Promise.all(svc.list(ImageHolders).map(holder => holder.heldHashes()))
    const kept = new Set(held.flat())
    return old.filter(sha256 => !kept.has(sha256))
  }
  svc.add(RetentionRules, {
    name: 'images',
    // After the messages that refer to them.
    stage: 20,
    count: async before => (await findUnusedImages(before)).length,
    async piece(before, limit) {
      const hashes = (await findUnusedImages(before)).slice(0, limit)
      if (hashes.length > 0) await svc.use(Store).apply([removeImages({ hashes, before })])
      return hashes.length
    },
  })
}
