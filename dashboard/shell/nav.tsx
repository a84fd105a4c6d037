import { useEffect, useRef } from 'preact/hooks'
import { api } from '../api/client.ts'
import { ofKinds, useQuery } from '../api/query.ts'
import { to } from '../routes.ts'
import { Icon } from './icons.tsx'

export function Nav({ pages, here }: { pages: readonly { page: string; name: string; icon: string }[]; here: string }) {
  const waiting = useQuery('approvals', { ask: () => api.approvals.queue(), on: ofKinds('approval_', 'agent_') })
  const number = waiting.data?.length ?? 0
  const bar = useRef<HTMLElement>(null)
  useEffect(() => bar.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' }), [here])
  return (
    <nav class="nav" aria-label="Pages" ref={bar}>
      {pages.map(({ page, name, icon }) => (
        <a key={page} href={to(page)} aria-current={page === here ? 'page' : undefined}>
          <Icon name={icon} />
          {name}
          {page === 'approvals' && number > 0 && (
            <b class="count" title={`${number} waiting`}>
              {number}
            </b>
          )}
        </a>
      ))}
    </nav>
  )
}
