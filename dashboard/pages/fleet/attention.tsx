import { to } from '../../routes.ts'
import type { Member } from '../../ui/types.ts'
import { plural, visible } from '../../ui/words.ts'

/** So many reasons are told; those of most agents. */
const REASONS = 4
const NAMES = 3

/** What wants the operator's hand: calls to decide on, and who is held by what, most of them first. */
export function Attention({ members }: { members: readonly Member[] }) {
  const asking = members.filter(({ status }) => status === 'waiting_approval')
  const held = members.filter(isHeld)
  const reasons = [...Map.groupBy(held, reasonOf)].sort(([, a], [, b]) => b.length - a.length)
  const shown = reasons.slice(0, REASONS)
  const others = held.length - shown.reduce((sum, [, group]) => sum + group.length, 0)
  if (asking.length + held.length === 0) return <p class="calm">Nobody is stuck, and nothing waits for you.</p>
  return (
    <section class="card attention" aria-labelledby="attention">
      <h2 id="attention">Wants your hand</h2>
      <ul class="plain">
        {asking.length > 0 && (
          <li>
            <a class="button" href={to('approvals')}>
              Decide
            </a>
            <p>
              <strong>
                {asking.length === 1
                  ? `${visible(asking[0]!.name)}: ${visible(asking[0]!.held!)}`
                  : `${plural(asking.length, 'agent')} wait for your approval`}
              </strong>
              {asking.length > 1 && <small>{namesOf(asking)}</small>}
            </p>
          </li>
        )}
        {shown.map(([reason, group]) => (
          <li key={reason}>
            <a
              class="button"
              href={group.length === 1 ? to('agents', [group[0]!.agent_id]) : to('', [], { status: HELD, q: reason })}
            >
              Show
            </a>
            <p>
              <strong>
                {group.length === 1 ? visible(group[0]!.name) : plural(group.length, 'agent')}: {visible(reason)}
              </strong>
              {group.length > 1 && <small>{namesOf(group)}</small>}
            </p>
          </li>
        ))}
        {others > 0 && (
          <li>
            <a class="button" href={to('', [], { status: HELD })}>
              Show
            </a>
            <p>{plural(others, 'agent is', 'agents are')} held by other things.</p>
          </li>
        )}
      </ul>
    </section>
  )
}

/** Among the statuses that one may look for: whatever keeps an agent from its work but an approval. */
export const HELD = 'stuck'

/** What holds it, however often that happened. */
const reasonOf = ({ held }: Member) => held!.replace(/^Failed (once|\d+ times in a row): /, '')

export const isHeld = ({ held, status }: Member) => held !== null && status !== 'waiting_approval'

function namesOf(group: readonly Member[]): string {
  const names = group.slice(0, NAMES).map(({ name }) => visible(name))
  return group.length > NAMES ? `${names.join(', ')} and ${group.length - NAMES} more` : names.join(', ')
}
