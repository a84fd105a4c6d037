import { api } from '../../api/client.ts'
import { ofKinds, useQuery } from '../../api/query.ts'
import { to } from '../../routes.ts'
import { Card } from '../../ui/card.tsx'
import { Table } from '../../ui/lists/table.tsx'
import { Loaded, Trouble } from '../../ui/states.tsx'
import { Tag } from '../../ui/status.tsx'
import { visible } from '../../ui/text/format.ts'
import type { Answer } from '../../ui/types.ts'

/** What happens to calls to a model of unknown price. */
const FATES = {
  none: 'its cost is not counted',
  refuse: 'its calls are refused while a dollar limit is set',
  approve: 'its calls need approval while a dollar limit is set',
}

function tokens(count: number | null): string {
  return count === null ? '–' : count.toLocaleString('en-US')
}

/** Page of models: which can be called, and why others cannot. */
export function Models() {
  const query = useQuery('models', {
    ask: () => api.models.list(),
    on: ofKinds('config_changed', 'plugin_', 'model_', 'cycle_done', 'task_ended'),
  })
  return (
    <>
      <h1>Models</h1>
      <Loaded query={query}>
        {({ default: chosen, error, providers, prices, in_use, unknown_price }) => (
          <>
            {error && <Trouble fault={{ message: error, code: '', status: 0, errors: [] }} />}
            {chosen && (
              <p>
                Default model: <code>{visible(chosen.model)}</code>
                {chosen.notice && <Tag kind="warn">{visible(chosen.notice)}</Tag>}
              </p>
            )}
            <p class="hint">
              To use another model, start the service with the key or the address of its provider, such as
              OPENAI_API_KEY, or set <a href={to('config', [], { q: 'model.default_model' })}>model.default_model</a>.
            </p>
            {in_use
              .filter(({ priced }) => priced === 'unknown')
              .map(({ model }) => (
                <p key={model}>
                  The price of <code>{visible(model)}</code> is unknown: {FATES[unknown_price ?? 'none']}. Add it to the
                  project’s models.yaml.
                </p>
              ))}
            <Card title="Providers">
              <Table
                caption="Providers"
                rows={[...providers].sort((a, b) => Number(b.available) - Number(a.available))}
                keyOf={provider => provider.name}
                columns={[
                  { name: 'Provider', cell: ({ name }) => visible(name) },
                  {
                    name: 'State',
                    kind: 'narrow',
                    cell: provider => <State of={provider} />,
                  },
                  {
                    name: 'Notes',
                    kind: 'grow',
                    cell: ({ name, reason, notice, free, free_because, traffic }) => (
                      <>
                        {reason && visible(reason)}{' '}
                        {traffic.breaker !== 'closed' && visible(traffic.last_failure ?? '')}{' '}
                        {notice && <Tag kind="warn">{visible(notice)}</Tag>}{' '}
                        {free && (
                          <Tag kind="good">{isPriced(name, prices) ? 'free, except priced models' : 'free'}</Tag>
                        )}{' '}
                        {free && free_because && free_because !== notice && <small>{visible(free_because)}</small>}
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
            <Card title="Prices in dollars per million tokens">
              <Table
                caption="Prices"
                rows={prices}
                keyOf={price => price.model}
                columns={[
                  { name: 'Model', kind: 'grow', cell: ({ model }) => <code>{visible(model)}</code> },
                  { name: 'Input', kind: 'number', cell: ({ input }) => input },
                  { name: 'Cached input', kind: 'number', wide: true, cell: ({ cached_input }) => cached_input ?? '–' },
                  { name: 'Output', kind: 'number', cell: ({ output }) => output },
                  { name: 'Context', kind: 'number', wide: true, cell: ({ context_window }) => tokens(context_window) },
                  {
                    name: 'Maximum output',
                    kind: 'number',
                    wide: true,
                    cell: ({ max_output_tokens }) => tokens(max_output_tokens),
                  },
                  {
                    name: 'As of',
                    kind: 'narrow',
                    wide: true,
                    cell: ({ as_of, stale }) => (
                      <>
                        {as_of ?? '–'} {stale && <Tag kind="warn">old</Tag>}
                      </>
                    ),
                  },
                ]}
              />
              <p class="hint">
                The project’s models.yaml adds prices and overrides these, for all providers. Prices older than 90 days
                are marked.
              </p>
            </Card>
          </>
        )}
      </Loaded>
    </>
  )
}

/** Returns whether models.yaml of the project has the price of a model of this provider. */
function isPriced(provider: string, prices: readonly { model: string; configured: boolean }[]): boolean {
  return prices.some(({ model, configured }) => configured && model.startsWith(`${provider}:`))
}

/** Whether a provider can be called; after repeated failures it is suspended for a time. */
function State({ of: { available, traffic } }: { of: Answer<'models.list'>['providers'][number] }) {
  if (available && traffic.breaker !== 'closed') return <span class="status is-failed">suspended</span>
  return <span class={available ? 'status is-available' : 'status'}>{available ? 'available' : 'unavailable'}</span>
}
