import { api } from '../../api/client.ts'
import { never, ofAgent, useQuery } from '../../api/query.ts'
import { Loaded } from '../../ui/states.tsx'
import { Tag } from '../../ui/status.tsx'
import { plural, visible } from '../../ui/text/format.ts'
import type { Item } from '../../ui/types.ts'

type Change = Item<'checkpoints.diff'>

const SHOWN = 100
const FEW = 12
const LONG = 400
const WORDS = { add: 'added', remove: 'removed', replace: 'changed' }
const KINDS = { add: 'good', remove: 'bad', replace: 'warn' } as const

interface ChangesProps {
  id: string
  from: string
  /** Now by default. */
  to?: string | undefined
  /** Whether to show what a restore would change. */
  isBack?: boolean
}

/** Changes of an agent between two times, by module. */
export function Changes({ id, from, to, isBack = false }: ChangesProps) {
  const query = useQuery(`changes ${id} ${from} ${to ?? ''}`, {
    ask: () => api.checkpoints.diff({ id, checkpoint_id: from, ...(to ? { to } : {}) }),
    on: to ? never : ofAgent(id),
  })
  return (
    <Loaded query={query}>
      {changes => {
        if (changes.length === 0) return <p class="soft">Nothing has changed.</p>
        const shown = isBack ? changes.map(reverseChange) : changes
        return (
          <section class="stack tight">
            <h3>{isBack ? `${plural(changes.length, 'value')} will change` : plural(changes.length, 'change')}</h3>
            {partsOf(shown).map(([part, own]) => (
              <Part key={part} part={part} changes={own} />
            ))}
          </section>
        )
      }}
    </Loaded>
  )
}

/** Groups changes by the part of the checkpoint: the first word of their path. */
function partsOf(changes: readonly Change[]): [part: string, changes: Change[]][] {
  const parts = new Map<string, Change[]>()
  for (const change of changes) {
    const part = change.path.split('/')[1] ?? ''
    parts.set(part, [...(parts.get(part) ?? []), change])
  }
  return [...parts]
}

/** Changes of one part: shown at once if they are few, else on request. */
function Part({ part, changes }: { part: string; changes: readonly Change[] }) {
  return (
    <details class="part" open={changes.length <= FEW}>
      <summary>
        {visible(part)} <small>{plural(changes.length, 'change')}</small>
      </summary>
      <ul class="plain list changes">
        {changes.slice(0, SHOWN).map(change => (
          <li key={`${change.op} ${change.path}`}>
            <Tag kind={KINDS[change.op]}>{WORDS[change.op]}</Tag>
            <div>
              <code>{visible(change.path.split('/').slice(2).join(' › ') || part)}</code>
              {change.op !== 'add' && <del>{toShortText(change.was)}</del>}
              {change.op !== 'remove' && <ins>{toShortText(change.value)}</ins>}
            </div>
          </li>
        ))}
      </ul>
      {changes.length > SHOWN && <p class="hint">and {changes.length - SHOWN} more</p>}
    </details>
  )
}

function reverseChange({ op, path, was, value }: Change): Change {
  if (op === 'add') return { op: 'remove', path, was: value }
  return op === 'remove' ? { op: 'add', path, value: was } : { op, path, was: value, value: was }
}

function toShortText(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, short) ?? 'nothing')
  return visible(text.length > LONG ? `${text.slice(0, LONG)}…` : text)
}

/** Rounds figures for people. */
const short = (_: string, value: unknown) =>
  typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value
