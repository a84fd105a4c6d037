import { useRef } from 'preact/hooks'

interface AskProps {
  busy: boolean
  dead: boolean
  /** @returns whether the server took it */
  onAsk: (instruction: string) => Promise<boolean>
  onStop: () => void
}

/** Where one writes what it should do. What was not taken stands there again, unless one went on writing. */
export function Ask({ busy, dead, onAsk, onStop }: AskProps) {
  const field = useRef<HTMLTextAreaElement>(null)
  const send = async () => {
    const instruction = field.current!.value.trim()
    if (!instruction || busy) return
    field.current!.form!.reset()
    const taken = await onAsk(instruction)
    if (!taken && field.current?.value === '') field.current.value = instruction
  }
  return (
    <form
      class="row ask"
      onSubmit={event => {
        event.preventDefault()
        void send()
      }}
    >
      <textarea
        ref={field}
        aria-label="What it should do"
        rows={2}
        required
        disabled={dead}
        placeholder="What should it do? Enter sends, Shift+Enter breaks the line."
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
    </form>
  )
}
