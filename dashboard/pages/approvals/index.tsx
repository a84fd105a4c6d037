import { api } from '../../api/client.ts'
import { ofKinds, useQuery } from '../../api/query.ts'
import { type Place, to } from '../../routes.ts'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { Detail } from './detail.tsx'
import { History } from './history.tsx'
import { Request } from './request.tsx'
import { Rules } from './rules.tsx'

/** Tool calls that wait for a person, what was decided before, and what runs without asking. */
export function Approvals({ place }: { place: Place }) {
  const [view = 'queue', id] = place.parts
  if (view === 'item' && id) return <Detail id={id} />
  const tabs = [
    { id: 'queue', name: 'Waiting', href: to('approvals') },
    { id: 'history', name: 'History', href: to('approvals', ['history']) },
    { id: 'rules', name: 'Standing grants', href: to('approvals', ['rules']) },
  ]
  return (
    <>
      <h1>Approvals</h1>
      <Tabs label="Approvals" tabs={tabs} here={view} />
      {view === 'history' ? <History /> : view === 'rules' ? <Rules /> : <Queue />}
    </>
  )
}

function Queue() {
  const queue = useQuery('approvals', { ask: () => api.approvals.queue(), on: ofKinds('approval_', 'agent_') })
  return (
    <Loaded query={queue}>
      {waiting =>
        waiting.length === 0 ? (
          <Empty title="Nothing waits for you.">
            Tools that need approval are named in <code>approval.require_for</code>, or by their authors.
          </Empty>
        ) : (
          <ul class="stack plain">
            {waiting.map(approval => (
              <Request key={approval.approval_id} approval={approval} onDecided={queue.reload} />
            ))}
          </ul>
        )
      }
    </Loaded>
  )
}
