import { focusOnMount } from '../focus.ts'
import { Code } from './code.tsx'
import { visible } from './format.ts'

interface ArgumentsProps {
  value: unknown
  /** Whether all of them are shown without scrolling. */
  whole?: boolean
  /** Whether the reader asked for the arguments. */
  isRequested?: boolean
}

/**
 * All arguments of a call, each by itself: a string of several lines as text, everything else as JSON. Short ones come
 * first, so that no long one pushes them out of view.
 */
export function Arguments({ value, whole = false, isRequested = false }: ArgumentsProps) {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return <Code value={value} label="Arguments" />
  const each = Object.entries(value)
    .map(([name, argument]) => ({ name, text: textOf(argument) }))
    .sort((a, b) => a.text.length - b.text.length)
  const ref = isRequested ? focusOnMount : null
  return (
    // biome-ignore lint/a11y: what scrolls must be reachable by the keyboard, and is no set of fields.
    <div ref={ref} role="group" class={whole ? 'code whole' : 'code'} tabIndex={0} aria-label="Arguments">
      {each.length === 0 ? (
        'none'
      ) : (
        <dl class="arguments">
          {each.map(({ name, text }) => (
            <div key={name}>
              <dt>{visible(name)}</dt>
              <dd>{visible(text)}</dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  )
}

const textOf = (value: unknown) =>
  typeof value === 'string' && value.includes('\n') ? value : (JSON.stringify(value, null, 2) ?? 'undefined')
