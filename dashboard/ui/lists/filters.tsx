import type { ComponentChildren } from 'preact'

/** A search field that reports words as they are typed. */
export function Search({
  label,
  placeholder = label,
  value,
  onWords,
}: {
  label: string
  placeholder?: string
  value: string
  onWords: (words: string) => void
}) {
  return (
    <input
      type="search"
      class="search"
      aria-label={label}
      placeholder={placeholder}
      value={value}
      onInput={event => onWords(event.currentTarget.value)}
    />
  )
}

/** Select field for one of a few values, such as a kind or a time span. */
export function Pick({
  label,
  value,
  onPick,
  children,
}: {
  label: string
  value: string
  onPick: (value: string) => void
  children: ComponentChildren
}) {
  return (
    <select class="pick" aria-label={label} value={value} onChange={event => onPick(event.currentTarget.value)}>
      {children}
    </select>
  )
}
