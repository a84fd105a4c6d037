import { type Place, to } from '../../routes.ts'
import { Empty } from '../../ui/states.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { Delegations } from './delegations.tsx'
import { MessagesBetweenAgents } from './messages.tsx'
import { Patterns } from './patterns.tsx'
import { Swarm } from './swarm.tsx'

export const VIEWS = [
  { id: 'talk', name: 'Messages between agents', view: MessagesBetweenAgents },
  { id: 'patterns', name: 'Patterns', view: Patterns },
  { id: 'delegations', name: 'Delegations', view: Delegations },
  { id: 'swarm', name: 'Swarm', view: Swarm },
]

/** Society page: messages, patterns, delegations, and what the swarm learned. */
export function Society({ place }: { place: Place }) {
  const [view = 'talk'] = place.parts
  const shown = VIEWS.find(({ id }) => id === view)
  const tabs = VIEWS.map(({ id, name }) => ({ id, name, href: to('society', id === 'talk' ? [] : [id]) }))
  return (
    <>
      <h1>Society</h1>
      <Tabs label="Society" tabs={tabs} here={view} />
      {shown ? (
        <shown.view place={place} />
      ) : (
        <Empty title="View not found.">The available views are listed above.</Empty>
      )}
    </>
  )
}
