import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { visible } from './text/format.ts'

/**
 * Scrolls a bar that is wider than the window, so that the neighbours of the chosen entry are visible too. Scrolls the
 * bar itself: after `scrollIntoView`, some browsers continue with Tab from there.
 */
export function showChosen(bar: HTMLElement | null): void {
  const chosen = bar?.querySelector('[aria-current]')
  if (!bar || !chosen) return
  const middle = (element: Element) => {
    const { left, width } = element.getBoundingClientRect()
    return left + width / 2
  }
  bar.scrollLeft += middle(chosen) - middle(bar)
}

/** Views of one thing as tabs, each with its own address. */
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
  useEffect(() => showChosen(bar.current), [here])
  return (
    <nav class="tabs" aria-label={visible(label)} ref={bar}>
      {tabs.map(({ id, name, href }) => (
        <a key={id} href={href} aria-current={id === here ? 'page' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  )
}
