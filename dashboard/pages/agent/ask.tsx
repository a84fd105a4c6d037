import { useRef } from 'preact/hooks'

interface AskProps {
  busy: boolean
  dead: boolean
  onAsk: (instruction: string) => void
  onStop: () => void
}

/** Where one writes what it should do. */
export function Ask({ busy, dead, onAsk, onStop }: AskProps) {
  const form = useRef<HTMLFormElement>(null)
  return (
    <form
      ref={form}
      class="row ask"
      onSubmit={event => {
        event.preventDefault()
        const instruction = String(new FormData(event.currentTarget).get('instruction')).trim()
        if (!instruction || busy) return
        onAsk(instruction)
        event.currentTarget.reset()
      }}
    >
      <textarea
        name="instruction"
        aria-label="What it should do"
        rows={2}
        required
        disabled={dead}
        placeholder="What should it do? Enter sends, Shift+Enter breaks the line."
        onKeyDown={event => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
          event.preventDefault()
          form.current?.requestSubmit()
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
