import { useState } from 'preact/hooks'
import { useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { ofKinds, useQuery } from '../../api/query.ts'
import { type Place, refine } from '../../routes.ts'
import { Card } from '../../ui/card.tsx'
import { RowButton } from '../../ui/lists/row-button.tsx'
import { Table } from '../../ui/lists/table.tsx'
import { Empty, Loaded, Trouble } from '../../ui/states.tsx'
import { Tag } from '../../ui/status.tsx'
import { count, duration, plural, visible } from '../../ui/text/format.ts'
import { toast } from '../../ui/toasts.tsx'
import type { Answer, Item } from '../../ui/types.ts'

type Plugin = Item<'plugins.list'>

/** Page of plugins: what each registered, and why some failed to load. The project's own come first. */
export function Plugins({ place }: { place: Place }) {
  const builtins = place.query.builtins === '1'
  const query = useQuery('plugins', { ask: () => api.plugins.list(), on: ofKinds('plugin_', 'status_changed') })
  const reload = useAction(async (name?: string) => {
    const outcomes = await api.plugins.reload(name ? { name } : {})
    await query.reload()
    toast(describeOutcomes(outcomes))
  })
  return (
    <>
      <div class="page-head">
        <h1>Plugins</h1>
        <div class="aside">
          <label class="row">
            <input
              type="checkbox"
              checked={builtins}
              onChange={event => refine({ builtins: event.currentTarget.checked ? '1' : undefined })}
            />
            Show built-in plugins
          </label>
          <button type="button" disabled={reload.running} onClick={() => void reload.run()}>
            Apply changes now
          </button>
        </div>
      </div>
      <Trouble fault={reload.fault} />
      <Loaded query={query}>
        {all => {
          const own = all.filter(plugin => plugin.origin !== 'builtin' || plugin.state !== 'live')
          return (
            <>
              {own.length === 0 ? (
                <Empty title="No plugins of your own yet.">
                  Save a <code>.ts</code> file in <code>plugins/</code>, or run <code>svc new plugin my-first</code>.
                  The plugin is loaded within ten heartbeats, or at once with <em>Apply changes now</em>.
                </Empty>
              ) : (
                <ul class="stack plain">
                  {own.map(plugin => (
                    <li key={plugin.name}>
                      <PluginCard plugin={plugin} onReload={() => void reload.run(plugin.name)} />
                    </li>
                  ))}
                </ul>
              )}
              {builtins && <Builtins plugins={all.filter(({ origin }) => origin === 'builtin')} />}
            </>
          )
        }}
      </Loaded>
    </>
  )
}

/** Describes the outcomes of a reload; why a change failed is shown with the plugin. */
function describeOutcomes(outcomes: Answer<'plugins.reload'>): string {
  const failed = outcomes.filter(({ error }) => error !== null)
  if (failed.length > 0) return `Cannot apply the changes: ${failed.map(({ plugin }) => plugin).join(', ')}.`
  return outcomes.length > 0 ? 'Changes applied.' : 'Nothing has changed.'
}

function Builtins({ plugins }: { plugins: readonly Plugin[] }) {
  return (
    <Card title={plural(plugins.length, 'built-in plugin')}>
      <Table
        caption="Built-in plugins"
        rows={plugins}
        keyOf={({ name }) => name}
        columns={[
          { name: 'Plugin', cell: ({ name }) => <strong>{visible(name)}</strong> },
          {
            name: 'Description',
            kind: 'grow',
            cell: ({ description, registered }) => (
              <>
                {visible(description ?? '')}
                <Registered things={registered} />
              </>
            ),
          },
          { name: 'State', kind: 'narrow', cell: ({ state }) => <State of={state} /> },
          { name: 'Calls', kind: 'number', wide: true, cell: ({ calls }) => count(calls) },
          { name: 'Failures', kind: 'number', wide: true, cell: ({ failures }) => count(failures) },
        ]}
      />
    </Card>
  )
}

function State({ of }: { of: Plugin['state'] }) {
  return <span class={`status ${of === 'failed' || of === 'suspended' ? 'is-failed' : 'is-active'}`}>{of}</span>
}

/** List of what a plugin registered. */
function Registered({ things }: { things: readonly string[] }) {
  const [open, setOpen] = useState(false)
  if (things.length === 0) return null
  return (
    <div>
      <button type="button" class="small quiet inset" aria-expanded={open} onClick={() => setOpen(!open)}>
        Registered {plural(things.length, 'item')}
      </button>
      {open && (
        <ul class="row plain">
          {things.map(each => (
            <li key={each}>
              <Tag>{visible(each)}</Tag>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

function PluginCard({ plugin, onReload }: { plugin: Plugin; onReload: () => void }) {
  const { name, state, origin, version, description, registered, error, calls, failures, last_failure } = plugin
  return (
    <Card
      title={visible(name)}
      aside={
        <>
          {version && <Tag>{visible(version)}</Tag>}
          <State of={state} />
          {origin !== 'builtin' && (
            <RowButton of={name} onClick={onReload}>
              Reload
            </RowButton>
          )}
        </>
      }
    >
      <div class="stack">
        {description && <p>{visible(description)}</p>}
        {error && <pre class="trouble wrap">{visible(error)}</pre>}
        {last_failure && !error && <p class="held">Last failure: {visible(last_failure)}</p>}
        <p class="soft">
          {origin === 'builtin' ? 'Built in' : <code>{visible(origin)}</code>} · {plural(calls, 'call')}, {failures}{' '}
          failed{!error && ` · loaded in ${duration(plugin.load_ms)}`}
          {plugin.swaps > 0 && ` · reloaded ${plural(plugin.swaps, 'time')}, last in ${duration(plugin.swap_ms ?? 0)}`}
        </p>
        <Registered things={registered} />
      </div>
    </Card>
  )
}
