import { api } from '../../../api/client.ts'
import { ofAgent, useQuery } from '../../../api/query.ts'
import { to } from '../../../routes.ts'
import { Loaded } from '../../../ui/states.tsx'
import { Tag } from '../../../ui/status.tsx'
import { Code } from '../../../ui/text/code.tsx'
import { duration, visible } from '../../../ui/text/format.ts'
import type { Item } from '../../../ui/types.ts'

type Call = Item<'goals.calls'>

/** Tool calls for a goal, newest first, updated as they are made. */
export function Steps({ goal_id, agent_id, limit }: { goal_id: string; agent_id: string; limit: number }) {
  const query = useQuery(`calls ${goal_id} ${limit}`, {
    ask: () => api.goals.calls({ goal_id, limit }),
    on: ofAgent(agent_id),
  })
  return (
    <Loaded query={query}>
      {calls =>
        calls.length === 0 ? (
          <p class="soft">No tool calls yet.</p>
        ) : (
          <ol class="plain steps" reversed>
            {calls.map(call => (
              <Step key={call.call_id} call={call} />
            ))}
          </ol>
        )
      }
    </Loaded>
  )
}

function Step({ call }: { call: Call }) {
  const { step, tool, arguments: args, state, ok, output, approval_id, started_at, ended_at } = call
  return (
    <li>
      <details>
        <summary>
          <span class="soft">{step}</span> <code>{visible(tool)}</code>{' '}
          {state !== 'done' && approval_id ? (
            <Tag kind="warn">needs approval</Tag>
          ) : ok === null ? (
            <Tag kind="warn">{state === 'started' ? 'running' : 'waiting'}</Tag>
          ) : (
            <Tag kind={ok ? 'good' : 'bad'}>{ok ? 'ok' : 'failed'}</Tag>
          )}{' '}
          {ended_at && <small>{duration(Date.parse(ended_at) - Date.parse(started_at))}</small>}
          <span class="clamp one soft">{visible(output ?? args)}</span>
        </summary>
        <Code value={pretty(args)} label={`Arguments of ${tool}`} />
        {output !== null && <Code value={output} label={`Output of ${tool}`} />}
      </details>
      {state !== 'done' && approval_id && (
        <a href={to('approvals', ['item', approval_id])}>Decide on {visible(tool)}</a>
      )}
    </li>
  )
}

function pretty(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return json
  }
}
