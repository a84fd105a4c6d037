import { useRef, useState } from 'preact/hooks'
import { visible } from './text/format.ts'

const TYPES = ['image/png', 'image/jpeg', 'image/webp']
const MAX_IMAGES = 4
/** Maximum size of all images in a request, in characters of base64; leaves space for the rest of the request. */
const MAX_CHARS = 16_000_000

/** Image attached to the text that is being written. */
export interface Attachment {
  name: string
  /** Base64. */
  data: string
  type: string
}

export interface Attached {
  images: readonly Attachment[]
  /** Why the last file was not attached. */
  problem: string
  add(files: Iterable<File>): Promise<void>
  remove(image: Attachment): void
  set(images: readonly Attachment[]): void
  /** Accepts images that are pasted into a form or dropped on it. */
  taking: {
    onPaste(event: ClipboardEvent): void
    onDrop(event: DragEvent): void
    onDragOver(event: DragEvent): void
  }
}

/**
 * Returns the images that the reader attached. The server checks them: only what could never be sent is refused here.
 */
export function useAttached(): Attached {
  const [images, show] = useState<readonly Attachment[]>([])
  // Several files may be read at once, so the rendered images may be out of date.
  const latest = useRef(images)
  const [problem, setProblem] = useState('')
  const set = (all: readonly Attachment[]) => {
    latest.current = all
    show(all)
    setProblem('')
  }
  const add = async (files: Iterable<File>) => {
    const read = await Promise.all([...files].map(readImage))
    const all = [...latest.current, ...read]
    const other = read.find(({ type }) => !TYPES.includes(type))
    const size = all.reduce((sum, { data }) => sum + data.length, 0)
    const found = other
      ? `"${other.name}" is not a PNG, JPEG or WebP image.`
      : all.length > MAX_IMAGES
        ? `A message can have at most ${MAX_IMAGES} images.`
        : size > MAX_CHARS
          ? 'The images exceed 12 MB in total. Attach smaller ones.'
          : ''
    if (found) setProblem(found)
    else set(all)
  }
  const take = (event: Event, files: FileList | undefined) => {
    if (!files?.length) return
    event.preventDefault()
    void add(files)
  }
  return {
    images,
    problem,
    add,
    set,
    remove: image => set(latest.current.filter(each => each !== image)),
    taking: {
      onPaste: event => take(event, event.clipboardData?.files),
      onDrop: event => take(event, event.dataTransfer?.files),
      onDragOver: event => event.dataTransfer?.types.includes('Files') && event.preventDefault(),
    },
  }
}

function readImage(file: File): Promise<Attachment> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onerror = () => reject(reader.error)
    reader.onload = () => {
      const url = String(reader.result)
      resolve({ name: file.name, type: file.type, data: url.slice(url.indexOf(',') + 1) })
    }
    reader.readAsDataURL(file)
  })
}

/** Attached images, each with a button to remove it, and a button to attach more. */
export function Attachments({ attached, disabled }: { attached: Attached; disabled?: boolean }) {
  const { images, problem, add, remove } = attached
  return (
    <div class="row attachments">
      {images.map(image => (
        <span key={image} class="thumb">
          <img src={sourceOf(image)} alt={visible(image.name)} />
          <button
            type="button"
            class="small quiet"
            aria-label={`Remove ${visible(image.name)}`}
            onClick={() => remove(image)}
          >
            ×
          </button>
        </span>
      ))}
      <label class="attach">
        Attach image
        <input
          type="file"
          accept={TYPES.join(',')}
          multiple
          disabled={disabled}
          onChange={event => {
            void add(event.currentTarget.files ?? [])
            event.currentTarget.value = ''
          }}
        />
      </label>
      {problem && (
        <p class="trouble" role="alert">
          {visible(problem)}
        </p>
      )}
    </div>
  )
}

export function sourceOf({ type, data }: Pick<Attachment, 'type' | 'data'>): string {
  return `data:${type};base64,${data}`
}

/** Converts attachments to the format of a request. */
export function inputsOf(images: readonly Attachment[]): { name: string; data: string }[] {
  return images.map(({ name, data }) => ({ name, data }))
}
