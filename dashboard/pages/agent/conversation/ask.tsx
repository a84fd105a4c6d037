import { useRef } from 'preact/hooks'
import { type Attachment, Attachments, useAttached } from '../../../ui/attach.tsx'

interface AskProps {
  busy: boolean
  dead: boolean
  /** @returns whether the server accepted it */
  onAsk: (instruction: string, images: readonly Attachment[]) => Promise<boolean>
  onStop: () => void
}

/**
 * Form for an instruction. A rejected instruction is put back into the field, unless the reader has typed something
 * else.
 */
export function Ask({ busy, dead, onAsk, onStop }: AskProps) {
  const field = useRef<HTMLTextAreaElement>(null)
  const attached = useAttached()
  const send = async () => {
    const instruction = field.current!.value.trim()
    if (!instruction || busy) return
    const { images } = attached
    field.current!.form!.reset()
    attached.set([])
    const taken = await onAsk(instruction, images)
    if (taken || field.current?.value !== '') return
    field.current.value = instruction
    attached.set(images)
  }
  return (
    <form
      class="row ask"
      {...attached.taking}
      onSubmit={event => {
        event.preventDefault()
        void send()
      }}
    >
      <textarea
        ref={field}
        aria-label="Instruction"
        rows={2}
        required
        disabled={dead}
        placeholder="What should the agent do? Enter sends, Shift+Enter adds a line."
        onKeyDown={event => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
          event.preventDefault()
          event.currentTarget.form?.requestSubmit()
        }}
      />
      {busy ? (
        <button type="button" onClick={onStop}>
          Stop
        </button>
      ) : (
        <button type="submit" class="primary" disabled={dead}>
          Send
        </button>
      )}
      <Attachments attached={attached} disabled={dead} />
    </form>
  )
}
