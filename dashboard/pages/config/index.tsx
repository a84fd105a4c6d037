import { useMemo } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { ofKinds, useQuery } from '../../api/query.ts'
import { type Place, refine } from '../../routes.ts'
import { Card } from '../../ui/card.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import type { Item } from '../../ui/types.ts'
import { plural } from '../../ui/words.ts'
import { KeyRow } from './key.tsx'

export type Key = Item<'config.keys'>

/** Every key that may be set: what it does, its value and where that comes from, and when a change counts. */
export function Config({ place }: { place: Place }) {
  const { q = '', set = '' } = place.query
  const query = useQuery('config keys', { ask: () => api.config.keys(), on: ofKinds('config_changed'), every: 15_000 })
  return (
    <>
      <div class="page-head">
        <h1>Configuration</h1>
        <div class="aside">
          <label class="row">
            <input
              type="checkbox"
              checked={set === '1'}
              onChange={event => refine({ set: event.currentTarget.checked ? '1' : undefined })}
            />
            Only what is set
          </label>
          <input
            type="search"
            class="search"
            aria-label="Find keys"
            placeholder="Key or words"
            value={q}
            onInput={event => refine({ q: event.currentTarget.value })}
          />
        </div>
      </div>
      <Loaded query={query}>
        {keys => <Sections keys={keys} q={q} onlySet={set === '1'} reload={query.reload} />}
      </Loaded>
    </>
  )
}

interface SectionsProps {
  keys: readonly Key[]
  q: string
  onlySet: boolean
  reload: () => Promise<void>
}

function Sections({ keys, q, onlySet, reload }: SectionsProps) {
  const sections = useMemo(() => {
    const words = q.toLowerCase().split(/\s+/)
    const found = keys.filter(({ key, schema, source }) => {
      const text = `${key} ${schema.description ?? ''}`.toLowerCase()
      return words.every(word => text.includes(word)) && (!onlySet || source !== 'default')
    })
    return [...Map.groupBy(found, ({ key }) => key.split('.')[0]!)]
  }, [keys, q, onlySet])
  if (sections.length === 0) return <Empty title="No key fits." />
  return (
    <>
      {sections.map(([section, members]) => (
        <Card key={section} title={section || 'Keys'} aside={<small>{plural(members.length, 'key')}</small>}>
          <ul class="plain list tall keys">
            {members.map(key => (
              <KeyRow key={key.key} found={key} onChanged={reload} />
            ))}
          </ul>
        </Card>
      ))}
    </>
  )
}
