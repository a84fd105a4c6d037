import { useMemo } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { ofKinds, useQuery } from '../../api/query.ts'
import { type Place, refine, to } from '../../routes.ts'
import { Card } from '../../ui/card.tsx'
import { Pick, Search } from '../../ui/lists/filters.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { plural } from '../../ui/text/format.ts'
import type { Key } from '../../ui/types.ts'
import { KeyRow } from './key.tsx'

/** Page of configuration keys: what each does, its value and source, and when a change applies. */
export function Config({ place }: { place: Place }) {
  const { q = '', set = '', section = '' } = place.query
  const query = useQuery('config keys', { ask: () => api.config.keys(), on: ofKinds('config_changed') })
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
            Only keys that are set
          </label>
          <Pick label="Section" value={section} onPick={section => refine({ section })}>
            <option value="">All sections</option>
            {[...new Set(query.data?.map(sectionOf))].sort().map(each => (
              <option key={each}>{each}</option>
            ))}
          </Pick>
          <Search label="Find keys" placeholder="Key or description" value={q} onWords={q => refine({ q })} />
        </div>
      </div>
      <Loaded query={query}>
        {keys => <Sections keys={keys} q={q} section={section} onlySet={set === '1'} reload={query.reload} />}
      </Loaded>
    </>
  )
}

const sectionOf = ({ key }: Key) => key.split('.')[0]!

interface SectionsProps {
  keys: readonly Key[]
  q: string
  section: string
  onlySet: boolean
  reload: () => Promise<void>
}

function Sections({ keys, q, section, onlySet, reload }: SectionsProps) {
  const sections = useMemo(() => {
    const words = q.toLowerCase().split(/\s+/)
    const found = keys.filter(({ key, schema, source }) => {
      const text = `${key} ${schema.description ?? ''}`.toLowerCase()
      return (
        words.every(word => text.includes(word)) &&
        (!onlySet || source !== 'default') &&
        (!section || key.startsWith(`${section}.`) || key === section)
      )
    })
    return [...Map.groupBy(found, sectionOf)]
  }, [keys, q, section, onlySet])
  if (sections.length === 0)
    return (
      <Empty title="No matching keys.">
        <a href={to('config')}>Show all keys</a>
      </Empty>
    )
  return (
    <>
      {sections.map(([name, members]) => (
        <Card key={name} title={name} aside={<small>{plural(members.length, 'key')}</small>}>
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
