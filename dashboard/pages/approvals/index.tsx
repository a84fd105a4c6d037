import { type Place, to } from '../../routes.ts'
import { Tabs } from '../../ui/tabs.tsx'
import { Detail } from './detail.tsx'
import { History } from './history.tsx'
import { Queue } from './queue.tsx'
import { Rules } from './rules.tsx'

export const VIEWS = [
  { id: 'queue', name: 'Pending' },
  { id: 'history', name: 'History' },
  { id: 'rules', name: 'Approval rules' },
] as const

/** Page of approvals: pending tool calls, past decisions, and approval rules. */
export function Approvals({ place }: { place: Place }) {
  const [view = 'queue', id] = place.parts
  if (view === 'item' && id) return <Detail id={id} />
  const tabs = VIEWS.map(({ id, name }) => ({ id, name, href: to('approvals', id === 'queue' ? [] : [id]) }))
  return (
    <>
      <h1>Approvals</h1>
      <Tabs label="Approvals" tabs={tabs} here={view} />
      {view === 'history' ? <History /> : view === 'rules' ? <Rules /> : <Queue />}
    </>
  )
}
