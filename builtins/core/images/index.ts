import { definePlugin } from '#kernel'
import { Effects } from '#platform/store/contract'
import { Images } from './contract.ts'
import { KeptImages } from './images.ts'
import { imageOperations } from './operations.ts'
import { keepImage, removeImages } from './repository.ts'
import { imagesForget } from './retention.ts'

export default definePlugin({
  name: 'images',
  description: 'Stores the images of conversations: checked, scaled down, and without duplicates.',
  needs: ['store'],
  setup(svc) {
    svc.provide(Images, new KeptImages(svc))
    for (const effect of [keepImage, removeImages]) svc.add(Effects, effect.kind)
    imagesForget(svc)
    for (const operation of imageOperations) svc.operation(operation)
  },
})
