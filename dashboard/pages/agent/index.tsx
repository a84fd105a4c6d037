import { type ComponentType, Fragment } from 'preact'
import { api } from '../../api/client.ts'
import { useQuery } from '../../api/query.ts'
import { type Place, to } from '../../routes.ts'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { visible } from '../../ui/text/format.ts'
import { Identity } from './character/identity.tsx'
import { Inner } from './character/inner.tsx'
import { Memory } from './character/memory.tsx'
import { World } from './character/world.tsx'
import { Checkpoints } from './checkpoints.tsx'
import { Chat } from './conversation/chat.tsx'
import { Messages } from './conversation/messages.tsx'
import { FolderChanges } from './folder-changes.tsx'
import { Goals } from './goals.tsx'
import { Head } from './head.tsx'
import { Overview } from './overview.tsx'
import { Schedules } from './schedules.tsx'
import { Tools } from './tools.tsx'
import type { ViewProps } from './view.ts'
import { Worktree } from './worktree.tsx'

export const VIEWS: readonly { id: string; name: string; view: ComponentType<ViewProps> }[] = [
  { id: 'overview', name: 'Overview', view: Overview },
  { id: 'goals', name: 'Goals', view: Goals },
  { id: 'changes', name: 'Changes', view: FolderChanges },
  { id: 'worktree', name: 'Worktree', view: Worktree },
  { id: 'chat', name: 'Chat', view: Chat },
  { id: 'inner', name: 'Mood and stress', view: Inner },
  { id: 'identity', name: 'Identity', view: Identity },
  { id: 'memory', name: 'Memory', view: Memory },
  { id: 'messages', name: 'Messages', view: Messages },
  { id: 'world', name: 'Economy', view: World },
  { id: 'schedules', name: 'Schedules', view: Schedules },
  { id: 'checkpoints', name: 'Checkpoints', view: Checkpoints },
  { id: 'tools', name: 'Tools', view: Tools },
]

/** Page of one agent: its work, its state, and every way to instruct it. */
export function AgentPage({ place }: { place: Place }) {
  const [id, view = 'overview'] = place.parts
  const query = useQuery(id ? `agent ${id}` : null, {
    ask: () => api.agents.get({ id: id! }),
    on: event => event.agent_id === id || event.type === 'status_changed',
  })
  if (!id) return <Empty title="Choose an agent from the fleet." />
  const folders = query.data?.folders ?? []
  const hidden = [
    ...(folders.some(({ purpose, access }) => purpose === undefined && access === 'read-write') ? [] : ['changes']),
    ...(folders.some(({ purpose }) => purpose === 'worktree') ? [] : ['worktree']),
  ]
  const offered = VIEWS.filter(({ id: tab }) => !hidden.includes(tab) || tab === view)
  const tabs = offered.map(({ id: tab, name }) => ({
    id: tab,
    name,
    href: to('agents', tab === 'overview' ? [id] : [id, tab]),
  }))
  const shown = VIEWS.find(each => each.id === view)
  return (
    <>
      {!query.data && (
        <div class="page-head">
          <h1>{visible(id)}</h1>
          <a class="aside" href={to('')}>
            All agents
          </a>
        </div>
      )}
      <Loaded query={query}>
        {agent => (
          // Drafts and dialogs belong to one agent.
          <Fragment key={agent.agent_id}>
            <Head agent={agent} reload={query.reload} />
            <Tabs label={`Views of ${agent.name}`} tabs={tabs} here={view} />
            {shown ? (
              <shown.view agent={agent} place={place} reload={query.reload} />
            ) : (
              <Empty title="View not found.">
                <a href={to('agents', [id])}>Go to the overview</a>
              </Empty>
            )}
          </Fragment>
        )}
      </Loaded>
    </>
  )
}
