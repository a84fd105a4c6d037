import { type ImageRef, type Images, MAX_IMAGES, ToolImages } from '#core/images/contract'
import { errorMessage } from '#kernel'
import { pluralize } from '#lib/pluralize'

/** Output of a tool, as stored in the transcript. */
export interface Output {
  /** Notes about images that were rejected. */
  notes: readonly string[]
  images: readonly ImageRef[]
}

/** Stores the images of a tool's result. Names rejected images with the reason. */
export async function keepImages(result: unknown, images: Images | undefined): Promise<Output> {
  if (!(result instanceof ToolImages)) return { notes: [], images: [] }
  const notes: string[] = []
  const stored: ImageRef[] = []
  for (const image of result.images.slice(0, MAX_IMAGES)) {
    try {
      if (!images) throw new Error('The module images is disabled, so the images of this tool are left out.')
      stored.push(await images.keep(image))
    } catch (error) {
      notes.push(`[${errorMessage(error)}]`)
    }
  }
  const excess = result.images.length - MAX_IMAGES
  if (excess > 0) notes.push(`[Left out: ${pluralize(excess, 'more image')}; a result holds at most ${MAX_IMAGES}.]`)
  return { notes, images: stored }
}
