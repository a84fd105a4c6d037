import { api } from '../../api/client.ts'
import { useQuery } from '../../api/query.ts'
import { type Attachment, sourceOf } from '../attach.tsx'
import { visible } from '../text/format.ts'

/** Image of a message, with the hash under which it is stored. */
export interface Picture {
  sha256: string
  media_type: string
  width: number
  height: number
  name?: string | undefined
}

/** Thumbnails of the images of a message. */
export function Pictures({ images }: { images: readonly Picture[] | undefined }) {
  if (!images?.length) return null
  return (
    <p class="row pictures">
      {images.map((image, n) => (
        <Kept key={`${image.sha256} ${n}`} image={image} />
      ))}
    </p>
  )
}

/** Thumbnails of the images that are being sent. */
export function Previews({ images }: { images: readonly Attachment[] }) {
  if (images.length === 0) return null
  return (
    <p class="row pictures">
      {images.map(image => (
        <img key={image} src={sourceOf(image)} alt={visible(image.name)} />
      ))}
    </p>
  )
}

function Kept({ image: { sha256, media_type, width, height, name } }: { image: Picture }) {
  const label = `${name ?? 'Image'}, ${width} × ${height}`
  // An image stored under a hash never changes.
  const { data, fault } = useQuery(`image ${sha256}`, { ask: () => api.images.get({ sha256 }), on: () => false })
  if (fault) return <span class="soft">{visible(`${label}: ${fault.message}`)}</span>
  if (!data) return <span class="soft">{visible(label)}</span>
  return (
    <img
      src={sourceOf({ type: media_type, data: data.data })}
      alt={visible(label)}
      title={visible(label)}
      width={width}
      height={height}
    />
  )
}
