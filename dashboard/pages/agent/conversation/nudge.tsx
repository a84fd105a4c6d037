import { useRef } from 'preact/hooks'
import { useAction } from '../../../api/action.ts'
import { api } from '../../../api/client.ts'
import { useLatest } from '../../../api/feed.ts'
import { to } from '../../../routes.ts'
import { Attachments, inputsOf, useAttached } from '../../../ui/attach.tsx'
import { Card } from '../../../ui/card.tsx'
import { Trouble } from '../../../ui/states.tsx'
import { When } from '../../../ui/time.tsx'
import type { Agent } from '../../../ui/types.ts'

/** Form for a nudge, which the agent reads before its next step. */
export function Nudge({ agent: { agent_id: id, status }, onSent }: { agent: Agent; onSent: () => void }) {
  const form = useRef<HTMLFormElement>(null)
  const attached = useAttached()
  const nudge = useAction(async (message: string) => {
    await api.agents.nudge({ id, message, images: inputsOf(attached.images) })
    form.current?.reset()
    attached.set([])
    onSent()
  }, 'Sent. The agent reads it before its next step.')
  const receipt = useLatest(event => event.agent_id === id && event.type === 'nudge_received', 1)
  return (
    <Card title="Nudge" aside={<a href={to('agents', [id, 'chat'])}>Chat</a>}>
      <form
        ref={form}
        class="stack"
        {...attached.taking}
        onSubmit={event => {
          event.preventDefault()
          void nudge.run(String(new FormData(event.currentTarget).get('message')))
        }}
      >
        <p class="hint">
          The agent reads a nudge before its next step, and goes on with its goal. For an answer, use the chat.
        </p>
        <textarea
          name="message"
          aria-label="Nudge"
          rows={2}
          maxLength={4000}
          required
          placeholder="Such as: look at the failing test first"
        />
        <Attachments attached={attached} disabled={status === 'dead'} />
        <Trouble fault={nudge.fault} />
        <div class="row">
          <button type="submit" class="primary" disabled={nudge.running || status === 'dead'}>
            Send nudge
          </button>
          {receipt[0] && (
            <small>
              Last sent <When at={receipt[0].at} />
            </small>
          )}
        </div>
      </form>
    </Card>
  )
}
