import { useAction } from '../../../api/action.ts'
import { api } from '../../../api/client.ts'
import { ofKinds } from '../../../api/query.ts'
import { to, usePlace } from '../../../routes.ts'
import { Card } from '../../../ui/card.tsx'
import { Choice, chosenIn, Order, orderIn } from '../../../ui/lists/list-filters.tsx'
import { usePage } from '../../../ui/lists/pager.tsx'
import { Empty, Loaded, Trouble } from '../../../ui/states.tsx'
import { visible } from '../../../ui/text/format.ts'
import { Message } from '../../../ui/text/message.tsx'
import type { ViewProps } from '../view.ts'

const BOXES = ['inbox', 'outbox'] as const

/** Messages that an agent sent and received, newest first. */
export function Messages({ agent: { agent_id: id } }: ViewProps) {
  const place = usePlace()
  const wanted = { box: chosenIn(place.query, 'box', BOXES), order: orderIn(place.query) }
  const { query, isEmpty, title, pager } = usePage(`messages ${id}`, {
    filter: JSON.stringify(wanted),
    ask: window => api.messages.list({ id, ...window, ...wanted }),
    on: ofKinds('message_sent', 'nudge_received'),
  })
  const send = useAction(async (form: HTMLFormElement) => {
    await api.messages.send({ id, body: String(new FormData(form).get('body')) })
    form.reset()
    await query.reload()
  }, 'Sent.')
  return (
    <div class="stack">
      <Card title="Send a message">
        <div class="stack">
          <p class="hint">
            The agent reads it with its messages from other agents. If it answers, its answer appears below. For an
            answer at once, use the <a href={to('agents', [id, 'chat'])}>chat</a>.
          </p>
          <form
            class="row ask"
            onSubmit={event => {
              event.preventDefault()
              void send.run(event.currentTarget)
            }}
          >
            <textarea name="body" aria-label="Message" rows={2} required placeholder="Message" />
            <button type="submit" class="primary" disabled={send.running}>
              Send
            </button>
          </form>
          <Trouble fault={send.fault} />
        </div>
      </Card>
      <Loaded query={query}>
        {messages =>
          isEmpty && wanted.box === undefined ? (
            <Empty title="No messages yet.">
              Messages that the agent sends and receives are listed here. Send one above.
            </Empty>
          ) : (
            <Card
              title={title('message', 'Messages')}
              aside={
                <>
                  <Choice label="Box" name="box" values={BOXES} />
                  <Order />
                </>
              }
            >
              <ul class="plain list tall">
                {messages.map(message => (
                  <Message
                    key={message.message_id}
                    message={message}
                    from={<Party id={message.from_agent} self={id} />}
                    to={<Party id={message.to_agent} self={id} />}
                  />
                ))}
              </ul>
              {pager}
            </Card>
          )
        }
      </Loaded>
    </div>
  )
}

function Party({ id, self }: { id: string; self: string }) {
  if (id === self || !id.includes('-')) return <span>{visible(id)}</span>
  return <a href={to('agents', [id, 'messages'])}>{visible(id)}</a>
}
