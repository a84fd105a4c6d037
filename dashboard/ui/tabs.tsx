import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** Where a bar is wider than the window, what is beside the chosen one is seen too. */
export const INTO_VIEW = { block: 'nearest', inline: 'center' } as const

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
  useEffect(() => bar.current?.querySelector('[aria-current]')?.scrollIntoView(INTO_VIEW), [here])
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
