import { useState } from 'preact/hooks'
import { useAction } from '../../../api/action.ts'
import { api } from '../../../api/client.ts'
import { ofAgent } from '../../../api/query.ts'
import { refine, to } from '../../../routes.ts'
import { ActionForm } from '../../../ui/action-form.tsx'
import { Card } from '../../../ui/card.tsx'
import { Confirm } from '../../../ui/dialog.tsx'
import { Search } from '../../../ui/lists/filters.tsx'
import { usePage } from '../../../ui/lists/pager.tsx'
import { RowButton } from '../../../ui/lists/row-button.tsx'
import { Empty, Loaded } from '../../../ui/states.tsx'
import { Tag } from '../../../ui/status.tsx'
import { Words } from '../../../ui/text/conversation.tsx'
import { percent, visible } from '../../../ui/text/format.ts'
import { When } from '../../../ui/time.tsx'
import type { ViewProps } from '../view.ts'

/** Memories of an agent: nearest to the search words, or newest first. */
export function Memory({ agent: { agent_id: id }, place }: ViewProps) {
  const { q = '' } = place.query
  const { query, isEmpty, pager } = usePage(`memory ${id}`, {
    filter: q,
    ask: window => api.memory.list({ id, ...(q ? { query: q } : {}), ...window }),
    on: ofAgent(id),
  })
  const [forgetting, setForgetting] = useState('')
  return (
    <div class="stack">
      <Add id={id} onAdded={query.reload} />
      <Card
        title="Memory"
        aside={
          <Search
            label="Search memory"
            placeholder="Search terms"
            value={q}
            onWords={q => refine({ q, page: undefined })}
          />
        }
      >
        {forgetting && (
          <Forget id={id} memory_id={forgetting} onDone={query.reload} onClose={() => setForgetting('')} />
        )}
        <Loaded query={query}>
          {records =>
            isEmpty ? (
              q ? (
                <Empty title="No results.">
                  <a href={to('agents', [id, 'memory'])}>Show all memories</a>
                </Empty>
              ) : (
                <Empty title="No memories yet.">
                  Memories that the agent stores while it works on goals are listed here.
                </Empty>
              )
            ) : (
              <>
                <ul class="plain list tall">
                  {records.map(({ memory_id, thought, metadata, ts, access_count, ...rest }) => (
                    <li key={memory_id}>
                      <div>
                        {typeof metadata.key === 'string' && <code>{visible(metadata.key)}</code>}
                        <Words text={thought} />
                        <p class="soft">
                          {'score' in rest && typeof rest.score === 'number' && (
                            <Tag kind="good">{percent(rest.score)} match</Tag>
                          )}{' '}
                          {typeof metadata.kind === 'string' && metadata.kind !== 'kv' && (
                            <Tag>{visible(metadata.kind)}</Tag>
                          )}{' '}
                          <When at={ts} /> · used {access_count}×
                        </p>
                      </div>
                      <RowButton of={thought} danger onClick={() => setForgetting(memory_id)}>
                        Forget…
                      </RowButton>
                    </li>
                  ))}
                </ul>
                {pager}
              </>
            )
          }
        </Loaded>
      </Card>
    </div>
  )
}

function Add({ id, onAdded }: { id: string; onAdded: () => void }) {
  const add = useAction(async (form: HTMLFormElement) => {
    await api.memory.add({ id, thought: String(new FormData(form).get('thought')) })
    form.reset()
    onAdded()
  }, 'Memory added.')
  return (
    <details class="card">
      <summary>Add a memory</summary>
      <ActionForm action={add} submit="Add memory" onSubmit={add.run}>
        <label>
          What the agent should remember
          <textarea name="thought" rows={2} required maxLength={10_000} />
        </label>
        <p class="hint">Prompts of the agent show the three newest of these, and others whose words are similar.</p>
      </ActionForm>
    </details>
  )
}

interface ForgetProps {
  id: string
  memory_id: string
  onDone: () => Promise<void>
  onClose: () => void
}

function Forget({ id, memory_id, onDone, onClose }: ForgetProps) {
  const forget = useAction(async () => {
    await api.memory.forget({ id, memory_id })
    await onDone()
  }, 'Memory deleted.')
  return (
    <Confirm title="Forget this memory?" label="Forget" action={forget} onClose={onClose}>
      <p>The memory is permanently deleted.</p>
    </Confirm>
  )
}
