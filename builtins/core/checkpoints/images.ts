import { ImageHolders, ImageInput, Images } from '#core/images/contract'
import { type PluginHandle, z } from '#kernel'
import type { BundlePart } from './contract.ts'

const PackedImages = z.array(ImageInput.pick({ data: true })).max(1_000)
type PackedImages = z.infer<typeof PackedImages>

/** Packs the images that an agent's messages refer to, so that another project can show them. */
export function imagesBundle(svc: PluginHandle): BundlePart {
  const part: BundlePart<PackedImages> = {
    name: 'images',
    schema: PackedImages,
    async pack(agent_id) {
      if (!svc.has(Images)) return undefined
      const held = await Promise.all(svc.list(ImageHolders).map(holder => holder.heldHashes(agent_id)))
      const kept = await svc.use(Images).load([...new Set(held.flat())])
      return kept.size > 0 ? [...kept.values()].map(data => ({ data })) : undefined
    },
    async unpack(_, images) {
      if (!svc.has(Images)) return { effects: [] }
      // Messages refer to images by a hash of their bytes, which is the same here; retention removes unreferenced
      // images.
      await svc.use(Images).keepAll(images)
      return { effects: [] }
    },
  }
  return part as BundlePart
}
