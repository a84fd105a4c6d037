import { useEffect, useRef } from 'preact/hooks'
import { api } from '../api/client.ts'
import { ofKinds, useQuery } from '../api/query.ts'
import { QUEUE, useQuestions, useWaiting } from '../api/waiting.ts'
import { to } from '../routes.ts'
import { showChosen } from '../ui/tabs.tsx'
import type { Item } from '../ui/types.ts'
import { Icon } from './icons.tsx'

interface NavProps {
  pages: readonly { page: string; name: string; icon: string }[]
  here: string
  /** Whether the reader is on the page itself, and not on one below it. */
  exact: boolean
}

export function Nav({ pages, here, exact }: NavProps) {
  const waiting = useWaiting().data?.length ?? 0
  const questions = useQuestions().data?.length ?? 0
  const broken = useBroken()
  const bar = useRef<HTMLElement>(null)
  useEffect(() => showChosen(bar.current), [here])
  const counts: Record<string, { number: number; words: string; bad?: boolean }> = {
    '': { number: questions, words: 'to answer' },
    approvals: { number: waiting, words: 'pending' },
    plugins: { number: broken, words: 'broken', bad: true },
  }
  return (
    <nav class="nav" aria-label="Pages" ref={bar}>
      {pages.map(({ page, name, icon }) => (
        <a key={page} href={to(page)} aria-current={page === here ? (exact ? 'page' : 'true') : undefined}>
          <Icon name={icon} />
          {name}
          <Count of={counts[page]} />
        </a>
      ))}
    </nav>
  )
}

/** Number of entries of a page that need attention. */
function Count({ of }: { of: { number: number; words: string; bad?: boolean } | undefined }) {
  if (!of || of.number === 0) return null
  const number = of.number === QUEUE ? `${QUEUE}+` : of.number
  return (
    <b class={of.bad ? 'count bad' : 'count'} title={`${number} ${of.words}`}>
      {number} <span class="unseen">{of.words}</span>
    </b>
  )
}

const isBroken = ({ state }: Item<'plugins.list'>) => state === 'failed' || state === 'suspended'

function useBroken(): number {
  const { data = [] } = useQuery('plugins', {
    ask: () => api.plugins.list(),
    on: ofKinds('plugin_', 'status_changed'),
  })
  return data.filter(isBroken).length
}
