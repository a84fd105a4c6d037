import { api } from '../../api/client.ts'
import { ofKinds, useQuery } from '../../api/query.ts'
import { Card } from '../../ui/card.tsx'
import { Loaded, Trouble } from '../../ui/states.tsx'
import { Tag } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { visible } from '../../ui/words.ts'

/** The models that can be called, and why others can't. */
export function Models() {
  const query = useQuery('models', {
    ask: () => api.models.list(),
    on: ofKinds('config_changed', 'model_'),
    every: 30_000,
  })
  return (
    <>
      <h1>Models</h1>
      <Loaded query={query}>
        {({ default: chosen, error, providers, prices, default_price }) => (
          <>
            {error && <Trouble fault={{ message: error, code: '', status: 0, errors: [] }} />}
            {chosen && (
              <p>
                Agents without a model of their own use <code>{visible(chosen.model)}</code>
                {chosen.notice && <Tag kind="warn">{visible(chosen.notice)}</Tag>}
              </p>
            )}
            <Card title="Providers">
              <Table
                caption="Providers"
                rows={[...providers].sort((a, b) => Number(b.available) - Number(a.available))}
                keyOf={provider => provider.name}
                columns={[
                  { name: 'Provider', cell: ({ name }) => visible(name) },
                  {
                    name: 'Available',
                    kind: 'narrow',
                    cell: ({ available }) => (
                      <span class={available ? 'status is-available' : 'status'}>{available ? 'yes' : 'no'}</span>
                    ),
                  },
                  {
                    name: 'Why not, and notes',
                    kind: 'grow',
                    cell: ({ reason, notice, free }) => (
                      <>
                        {reason && visible(reason)} {notice && <Tag kind="warn">{visible(notice)}</Tag>}{' '}
                        {free && <Tag kind="good">free</Tag>}
                      </>
                    ),
                  },
                  {
                    name: 'Tiers',
                    wide: true,
                    cell: ({ tiers }) => (
                      <small>
                        {Object.entries(tiers)
                          .map(([tier, model]) => `${tier}: ${model}`)
                          .join(', ')}
                      </small>
                    ),
                  },
                ]}
              />
            </Card>
            <Card title="Prices, in dollars for a million tokens">
              <Table
                caption="Prices"
                rows={prices}
                keyOf={price => price.model}
                columns={[
                  { name: 'Model', kind: 'grow', cell: ({ model }) => <code>{visible(model)}</code> },
                  { name: 'Input', kind: 'number', cell: ({ input }) => input },
                  { name: 'Cached', kind: 'number', wide: true, cell: ({ cached_input }) => cached_input ?? '–' },
                  { name: 'Output', kind: 'number', cell: ({ output }) => output },
                  { name: 'As of', kind: 'narrow', wide: true, cell: ({ as_of }) => as_of ?? '–' },
                ]}
              />
              <p class="hint">
                Unknown prices count as {default_price.input} and {default_price.output}, and are flagged. The project’s
                models.yaml overrides them.
              </p>
            </Card>
          </>
        )}
      </Loaded>
    </>
  )
}
