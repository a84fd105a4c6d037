import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { visible } from './text/words.ts'

/**
 * Where a bar is wider than the window, what is beside the chosen one is seen too. The bar itself is scrolled: where something
 * was scrolled into view, there Tab goes on in some browsers.
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
