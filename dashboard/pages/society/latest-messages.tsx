import { api } from '../../api/client.ts'
import { ofKinds, useQuery } from '../../api/query.ts'
import { Card } from '../../ui/card.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { visible } from '../../ui/text/format.ts'
import { Message } from '../../ui/text/message.tsx'
import type { Pair } from './pairs.ts'
import { Party } from './party.tsx'

const SHOWN = 5

/** Latest messages between two agents. */
export function LatestMessages({ pair: { key, one, other } }: { pair: Pair }) {
  // A deleted agent has no mailbox; the other's mailbox holds the messages.
  const [id, peer] = one.alive ? [one.agent_id, other.agent_id] : [other.agent_id, one.agent_id]
  const query = useQuery(`talk between ${key}`, {
    ask: () => api.messages.list({ id, peer, limit: SHOWN }),
    on: ofKinds('message_sent'),
  })
  const nameOf = (agent_id: string) => (agent_id === one.agent_id ? one : other)
  return (
    <Card title={`${visible(one.name)} and ${visible(other.name)}`} aside={<small>Latest messages</small>}>
      <Loaded query={query}>
        {messages =>
          messages.length === 0 ? (
            <Empty title="These messages are no longer stored." />
          ) : (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard.
            <ol class="plain list tall last" tabIndex={0} aria-label="Messages, newest first">
              {messages.map(message => (
                <Message
                  key={message.message_id}
                  message={message}
                  from={<Party {...nameOf(message.from_agent)} />}
                  to={<Party {...nameOf(message.to_agent)} />}
                />
              ))}
            </ol>
          )
        }
      </Loaded>
    </Card>
  )
}
