import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** Views of one thing, each with an address of its own. */
export function Tabs({
  label,
  tabs,
  here,
}: {
  label: string
  tabs: readonly { id: string; name: ComponentChildren; href: string }[]
  here: string
}) {
  const bar = useRef<HTMLElement>(null)
  useEffect(() => bar.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' }), [here])
  return (
    <nav class="tabs" aria-label={label} ref={bar}>
      {tabs.map(({ id, name, href }) => (
        <a key={id} href={href} aria-current={id === here ? 'page' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  )
}
