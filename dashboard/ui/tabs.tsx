import type { ComponentChildren } from 'preact'

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
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ id, name, href }) => (
        <a key={id} href={href} aria-current={id === here ? 'page' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  )
}
