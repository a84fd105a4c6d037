import { useState } from 'preact/hooks'
import { useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { ofAgent, useLasting, useQuery } from '../../api/query.ts'
import { refine, to } from '../../routes.ts'
import { Card } from '../../ui/card.tsx'
import { Search } from '../../ui/filters.tsx'
import { Words } from '../../ui/said.tsx'
import { Empty, Loaded, Trouble } from '../../ui/states.tsx'
import { Tag } from '../../ui/status.tsx'
import { When } from '../../ui/time.tsx'
import { percent, visible } from '../../ui/words.ts'
import type { ViewProps } from './view.ts'

const PIECE = 30

/** What it remembers: nearest to some words, or newest first. */
export function Memory({ agent: { agent_id: id }, place }: ViewProps) {
  const { q = '' } = place.query
  const [limit, setLimit] = useState(PIECE)
  const found = useQuery(`memory ${id} ${q} ${limit}`, {
    ask: () => api.memory.list({ id, ...(q ? { query: q } : {}), limit }),
    on: ofAgent(id),
  })
  const query = useLasting(id, found)
  const forget = useAction(async (memory_id: string) => {
    await api.memory.forget({ id, memory_id })
    await query.reload()
  }, 'Forgotten.')
  return (
    <Card
      title="Memory"
      aside={
        <Search label="Search its memory" placeholder="What it may remember" value={q} onWords={q => refine({ q })} />
      }
    >
      <Trouble fault={forget.fault} />
      <Loaded query={query}>
        {records =>
          records.length === 0 ? (
            q ? (
              <Empty title="Nothing near to these words.">
                <a href={to('agents', [id, 'memory'])}>Show all that it remembers</a>
              </Empty>
            ) : (
              <Empty title="It remembers nothing yet.">What it learns while it pursues goals is kept here.</Empty>
            )
          ) : (
            <>
              <ul class="plain list tall">
                {records.map(({ memory_id, thought, metadata, ts, access_count, ...rest }) => (
                  <li key={memory_id}>
                    <div>
                      <Words text={thought} />
                      <p class="soft">
                        {'score' in rest && typeof rest.score === 'number' && (
                          <Tag kind="good">{percent(rest.score)} near</Tag>
                        )}{' '}
                        {typeof metadata.kind === 'string' && <Tag>{visible(metadata.kind)}</Tag>} <When at={ts} /> ·
                        used {access_count}×
                      </p>
                    </div>
                    <button type="button" class="small danger" onClick={() => void forget.run(memory_id)}>
                      Forget
                    </button>
                  </li>
                ))}
              </ul>
              {records.length === limit && (
                <button type="button" onClick={() => setLimit(limit + PIECE)}>
                  More
                </button>
              )}
            </>
          )
        }
      </Loaded>
    </Card>
  )
}
