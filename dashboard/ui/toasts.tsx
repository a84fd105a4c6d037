import { useEffect, useState } from 'preact/hooks'
import { visible } from './text/format.ts'

const SHOWN_MS = 4_000
interface Toast {
  id: number
  text: string
}

let toasts: readonly Toast[] = []
let nth = 0
let notify = () => {}

/** Shows a short confirmation. */
export function toast(text: string): void {
  const id = ++nth
  toasts = [...toasts, { id, text }]
  notify()
  setTimeout(() => {
    toasts = toasts.filter(each => each.id !== id)
    notify()
  }, SHOWN_MS)
}

export function Toasts() {
  const [, render] = useState(0)
  useEffect(() => {
    notify = () => render(n => n + 1)
  }, [])
  return (
    <div class="toasts" role="status">
      {toasts.map(({ id, text }) => (
        <p key={id}>{visible(text)}</p>
      ))}
    </div>
  )
}
