import { to } from '../../routes.ts'
import { Figure } from '../../ui/card.tsx'
import { When } from '../../ui/time.tsx'
import { dollars, visible } from '../../ui/words.ts'
import type { Member } from './index.tsx'

/** The whole fleet in a few figures. */
export function Glance({ members }: { members: readonly Member[] }) {
  const number = (status: Member['status']) => members.filter(member => member.status === status).length
  const stuck = members.filter(({ held, status }) => held !== null && status !== 'waiting_approval')
  const next = members
    .filter(member => member.next_run_at !== null)
    .reduce<Member | undefined>(
      (first, each) => (first && first.next_run_at! <= each.next_run_at! ? first : each),
      undefined,
    )
  const approvals = number('waiting_approval')
  return (
    <dl class="card figures">
      <Figure label="Agents" value={members.length} />
      <Figure label="Working" value={number('working')} />
      <Figure label="Idle" value={number('idle')} />
      <Figure label="Need approval" value={approvals > 0 ? <a href={to('approvals')}>{approvals}</a> : 0} />
      <Figure
        label="Stuck"
        value={stuck.length}
        note={stuck[0] && <a href={to('agents', [stuck[0].agent_id])}>{visible(stuck[0].name)}</a>}
      />
      <Figure label="Paused" value={number('paused')} />
      <Figure label="Cost in all" value={dollars(members.reduce((sum, { cost_usd }) => sum + cost_usd, 0))} />
      {next && (
        <Figure
          label="Wakes next"
          value={<When at={next.next_run_at} ahead />}
          note={<a href={to('agents', [next.agent_id])}>{visible(next.name)}</a>}
        />
      )}
    </dl>
  )
}
