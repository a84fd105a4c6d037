import { operation, z } from '#kernel'
import { Store } from '#platform/store/contract'
import { ImageNotFoundError, ImageRef } from './contract.ts'
import { findImages } from './repository.ts'

export const imagesGet = operation({
  name: 'images.get',
  summary: 'Show an image of a conversation',
  description: 'Returns its bytes in base64, as they were kept: scaled down where the image was larger.',
  input: z.object({ sha256: ImageRef.shape.sha256.describe('The hash by which a message names it') }),
  output: ImageRef.omit({ name: true }).extend({ data: z.string().describe('The bytes in base64') }),
  errors: [ImageNotFoundError],
  http: { method: 'GET', path: '/images/{sha256}' },
  async run({ sha256 }, { svc }) {
    const [image] = await findImages(svc.use(Store), [sha256])
    if (!image) throw new ImageNotFoundError({ sha256 })
    return image
  },
})

export const imageOperations = [imagesGet]
