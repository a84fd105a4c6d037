import { to } from '../../routes.ts'
import { Figure } from '../../ui/card.tsx'
import { count, dollars, integer, visible } from '../../ui/text/format.ts'
import { When } from '../../ui/time.tsx'
import type { AgentStatus, Fleet } from '../../ui/types.ts'
import { STUCK } from './attention.tsx'

/**
 * Figures of the whole fleet, each with a link to the agents that it counts. Each agent has one status, and stuck ones
 * are among them, so that the figures of the statuses add up to the number of agents. @param every seconds between two
 * heartbeats
 */
export function Glance({ summary, every }: { summary: Fleet['summary']; every: number | undefined }) {
  const { total, statuses, stuck, cost_usd, tokens, next } = summary
  const statusLink = (n: number, status: string) => (n > 0 ? <a href={to('', [], { status })}>{integer(n)}</a> : n)
  const number = (status: AgentStatus) => statusLink(statuses[status] ?? 0, status)
  return (
    <dl class="card figures">
      <Figure label="Agents" value={integer(total)} />
      <Figure label="Working" value={number('working')} />
      <Figure label="Idle" value={number('idle')} />
      <Figure label="Waiting" value={number('waiting')} />
      <Figure label="Need approval" value={number('waiting_approval')} />
      <Figure label="Paused" value={number('paused')} />
      <Figure label="Dead" value={number('dead')} />
      <Figure label="Of these, stuck" value={statusLink(stuck, STUCK)} />
      <Figure
        label="Total cost"
        value={<a href={to('spend')}>{dollars(cost_usd)}</a>}
        note={`${count(tokens)} tokens`}
      />
      {next && every !== undefined && (
        <Figure
          label="Next wake-up"
          value={<When at={next.at} ahead every={every} />}
          note={<a href={to('agents', [next.agent_id])}>{visible(next.name)}</a>}
        />
      )}
    </dl>
  )
}
