import { useState } from 'preact/hooks'
import { useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { go, to } from '../../routes.ts'
import { Confirm } from '../../ui/dialog.tsx'
import { Trouble } from '../../ui/states.tsx'
import { Status, Tag } from '../../ui/status.tsx'
import { fullName } from '../../ui/text/agent-names.ts'
import { visible } from '../../ui/text/format.ts'
import type { Agent } from '../../ui/types.ts'

/** Name and status of an agent, and the actions on it as a whole. */
export function Head({ agent, reload }: { agent: Agent; reload: () => Promise<void> }) {
  const { agent_id: id, name, role, status, model, mood } = agent
  const [killing, setKilling] = useState(false)
  const paused = status === 'paused'
  const act = useAction(async () => {
    await (paused ? api.agents.resume({ id }) : api.agents.pause({ id }))
    await reload()
  })
  return (
    <>
      <div class="stack tight">
        <div class="page-head">
          <h1>{visible(name)}</h1>
          <Status of={status} />
          {mood && <Tag>mood: {visible(mood)}</Tag>}
          <code class="soft">{id}</code>
          <div class="aside">
            {status !== 'dead' && (
              <button type="button" disabled={act.running} onClick={() => void act.run()}>
                {paused ? 'Resume' : 'Pause'}
              </button>
            )}
            <button type="button" class="danger" onClick={() => setKilling(true)}>
              Kill…
            </button>
          </div>
        </div>
        <p class="soft">
          {visible(role)} · {model ? visible(model) : 'default model'}
        </p>
      </div>
      <Trouble fault={act.fault} />
      {killing && <Kill agent={agent} onClose={() => setKilling(false)} />}
    </>
  )
}

function Kill({ agent, onClose }: { agent: Agent; onClose: () => void }) {
  const kill = useAction(async () => {
    await api.agents.delete({ id: agent.agent_id })
    go(to(''))
  }, 'Agent removed. Its files are in .svc/trash.')
  return (
    <Confirm title={`Kill ${fullName(agent)}?`} label="Kill agent" action={kill} onClose={onClose}>
      <p>All records of the agent are permanently removed. Its files move to .svc/trash.</p>
    </Confirm>
  )
}
