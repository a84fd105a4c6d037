import { operation, z } from '#kernel'
import { Store } from '#platform/store/contract'
import { ImageNotFoundError, ImageRef } from './contract.ts'
import { findImages } from './repository.ts'

export const imagesGet = operation({
  name: 'images.get',
  summary: 'Show an image of a conversation',
  description: 'Returns the bytes of the stored image in base64; large images were scaled down.',
  input: z.object({ sha256: ImageRef.shape.sha256.describe('Hash by which messages refer to the image') }),
  output: ImageRef.omit({ name: true }).extend({ data: z.string().describe('Bytes of the image in base64') }),
  errors: [ImageNotFoundError],
  http: { method: 'GET', path: '/images/{sha256}' },
  async run({ sha256 }, { svc }) {
    const [image] = await findImages(svc.use(Store), [sha256])
    if (!image) throw new ImageNotFoundError({ sha256 })
    return image
  },
})

export const imageOperations = [imagesGet]
