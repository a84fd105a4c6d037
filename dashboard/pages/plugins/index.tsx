import { useState } from 'preact/hooks'
import { useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { ofKinds, useQuery } from '../../api/query.ts'
import { type Place, refine } from '../../routes.ts'
import { Card } from '../../ui/card.tsx'
import { Empty, Loaded, Trouble } from '../../ui/states.tsx'
import { Tag } from '../../ui/status.tsx'
import type { Item } from '../../ui/types.ts'
import { duration, plural, visible } from '../../ui/words.ts'

type Plugin = Item<'plugins.list'>

/** What is loaded, what each registered, and why some could not: those that authors wrote first. */
export function Plugins({ place }: { place: Place }) {
  const builtins = place.query.builtins === '1'
  const query = useQuery('plugins', { ask: () => api.plugins.list(), on: ofKinds('plugin_') })
  const reload = useAction(async (name?: string) => {
    await api.plugins.reload(name ? { name } : {})
    await query.reload()
  }, 'What changed is applied.')
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
            Built-in ones too
          </label>
          <button type="button" disabled={reload.running} onClick={() => void reload.run()}>
            Apply changes now
          </button>
        </div>
      </div>
      <Trouble fault={reload.fault} />
      <Loaded query={query}>
        {all => {
          const shown = all.filter(plugin => builtins || plugin.origin !== 'builtin' || plugin.state !== 'live')
          if (shown.length === 0) {
            return (
              <Empty title="No plugin of your own yet.">
                Drop a <code>.ts</code> file into <code>plugins/</code>, or begin with{' '}
                <code>svc new plugin my-first</code>; it is live seconds later.
              </Empty>
            )
          }
          return (
            <ul class="stack plain">
              {shown.map(plugin => (
                <li key={plugin.name}>
                  <PluginCard plugin={plugin} onReload={() => void reload.run(plugin.name)} />
                </li>
              ))}
            </ul>
          )
        }}
      </Loaded>
    </>
  )
}

function PluginCard({ plugin, onReload }: { plugin: Plugin; onReload: () => void }) {
  const [open, setOpen] = useState(false)
  const { name, state, origin, version, description, registered, error, calls, failures, last_failure } = plugin
  const bad = state === 'failed' || state === 'suspended'
  return (
    <Card
      title={visible(name)}
      aside={
        <>
          {version && <Tag>{visible(version)}</Tag>}
          <span class={bad ? 'status is-failed' : 'status is-active'}>{state}</span>
          {origin !== 'builtin' && (
            <button type="button" class="small" onClick={onReload}>
              Reload
            </button>
          )}
        </>
      }
    >
      <div class="stack">
        {description && <p>{visible(description)}</p>}
        {error && <pre class="trouble wrap">{visible(error)}</pre>}
        {last_failure && !error && <p class="held">Failed last: {visible(last_failure)}</p>}
        <p class="soft">
          {origin === 'builtin' ? 'Built in' : <code>{visible(origin)}</code>} · {plural(calls, 'call')}, {failures}{' '}
          failed · loaded in {duration(plugin.load_ms)}
          {plugin.swaps > 0 && ` · swapped ${plural(plugin.swaps, 'time')}, last in ${duration(plugin.swap_ms ?? 0)}`}
        </p>
        {registered.length > 0 && (
          <div>
            <button type="button" class="small quiet" aria-expanded={open} onClick={() => setOpen(!open)}>
              Registered {plural(registered.length, 'thing')}
            </button>
            {open && (
              <ul class="row plain">
                {registered.map(each => (
                  <li key={each}>
                    <Tag>{visible(each)}</Tag>
                  </li>
                ))}
              </ul>
            )}
          </div>
        )}
      </div>
    </Card>
  )
}
