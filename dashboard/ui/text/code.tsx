import { visible } from './format.ts'

/** Data in full, with deceptive characters made visible. */
export function Code({ value, label }: { value: unknown; label?: string }) {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '')
  return (
    // biome-ignore lint/a11y: what scrolls must be reachable by the keyboard, and is no set of fields.
    <div role="group" class="code" tabIndex={0} aria-label={visible(label ?? 'Data')}>
      <pre>{visible(text)}</pre>
    </div>
  )
}
