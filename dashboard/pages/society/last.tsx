import { api } from '../../api/client.ts'
import { ofKinds, useQuery } from '../../api/query.ts'
import { Card } from '../../ui/card.tsx'
import { Words } from '../../ui/said.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Tag } from '../../ui/status.tsx'
import { When } from '../../ui/time.tsx'
import { visible } from '../../ui/words.ts'
import type { Pair } from './pairs.ts'
import { Party } from './party.tsx'

const SHOWN = 5

/** What two said to each other last. */
export function Last({ pair: { key, one, other } }: { pair: Pair }) {
  // Who is gone has no mailbox; the other's holds what was said.
  const [id, peer] = one.alive ? [one.agent_id, other.agent_id] : [other.agent_id, one.agent_id]
  const query = useQuery(`talk between ${key}`, {
    ask: () => api.messages.list({ id, peer, limit: SHOWN }),
    on: ofKinds('message_sent'),
  })
  const nameOf = (agent_id: string) => (agent_id === one.agent_id ? one : other)
  return (
    <Card title={`${visible(one.name)} and ${visible(other.name)}`} aside={<small>The last they said</small>}>
      <Loaded query={query}>
        {messages =>
          messages.length === 0 ? (
            <Empty title="What they said is no longer kept." />
          ) : (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard.
            <ol class="plain list tall last" tabIndex={0} aria-label="Messages, the newest first">
              {messages.map(({ message_id, type, from_agent, to_agent, subject, body, ts }) => (
                <li key={message_id}>
                  <div>
                    <p>
                      <Tag>{type}</Tag> <Party {...nameOf(from_agent)} /> → <Party {...nameOf(to_agent)} />
                    </p>
                    {subject && <strong>{visible(subject)}</strong>}
                    <Words text={body} />
                  </div>
                  <small>
                    <When at={ts} />
                  </small>
                </li>
              ))}
            </ol>
          )
        }
      </Loaded>
    </Card>
  )
}
