import { to } from '../../routes.ts'
import { Figure } from '../../ui/card.tsx'
import { When } from '../../ui/time.tsx'
import type { Member } from '../../ui/types.ts'
import { count, dollars, visible } from '../../ui/words.ts'
import { HELD, isHeld } from './attention.tsx'

/** The whole fleet in a few figures; each leads to those that it counts. */
export function Glance({ members }: { members: readonly Member[] }) {
  const number = (status: Member['status']) => members.filter(member => member.status === status).length
  const listed = (n: number, status: string) => (n > 0 ? <a href={to('', [], { status })}>{n}</a> : n)
  const sum = (of: (member: Member) => number) => members.reduce((total, member) => total + of(member), 0)
  const next = members
    .filter(member => member.next_run_at !== null)
    .reduce<Member | undefined>(
      (first, each) => (first && first.next_run_at! <= each.next_run_at! ? first : each),
      undefined,
    )
  return (
    <dl class="card figures">
      <Figure label="Agents" value={members.length.toLocaleString('en')} />
      <Figure label="Working" value={listed(number('working'), 'working')} />
      <Figure label="Idle" value={listed(number('idle'), 'idle')} />
      <Figure label="Need approval" value={listed(number('waiting_approval'), 'waiting_approval')} />
      <Figure label="Stuck" value={listed(members.filter(isHeld).length, HELD)} />
      <Figure label="Paused" value={listed(number('paused'), 'paused')} />
      <Figure
        label="Cost in all"
        value={<a href={to('spend')}>{dollars(sum(({ cost_usd }) => cost_usd))}</a>}
        note={`${count(sum(({ tokens }) => tokens))} tokens`}
      />
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
