import { type Place, to } from '../../routes.ts'
import { Tabs } from '../../ui/tabs.tsx'
import { Detail } from './detail.tsx'
import { History } from './history.tsx'
import { Queue } from './queue.tsx'
import { Rules } from './rules.tsx'

/** Page of approvals: pending tool calls, past decisions, and approval rules. */
export function Approvals({ place }: { place: Place }) {
  const [view = 'queue', id] = place.parts
  if (view === 'item' && id) return <Detail id={id} />
  const tabs = [
    { id: 'queue', name: 'Pending', href: to('approvals') },
    { id: 'history', name: 'History', href: to('approvals', ['history']) },
    { id: 'rules', name: 'Approval rules', href: to('approvals', ['rules']) },
  ]
  return (
    <>
      <h1>Approvals</h1>
      <Tabs label="Approvals" tabs={tabs} here={view} />
      {view === 'history' ? <History /> : view === 'rules' ? <Rules /> : <Queue />}
    </>
  )
}
