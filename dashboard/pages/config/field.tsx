import { focusOnMount } from '../../ui/focus.ts'
import type { Key } from '../../ui/types.ts'

interface Shape {
  type?: string | readonly string[]
  enum?: readonly unknown[]
  minimum?: number
  exclusiveMinimum?: number
  maximum?: number
  items?: Shape
  anyOf?: readonly Shape[]
}

/** Returns the schema of a key's value, without the null that it may allow. */
function shapeOf({ schema }: Key): Shape {
  const shape = schema as Shape
  const others = shape.anyOf?.filter(({ type }) => type !== 'null') ?? []
  return others.length === 1 ? others[0]! : shape
}

const isNullable = ({ schema }: Key) => (schema as Shape).anyOf?.some(({ type }) => type === 'null') ?? false
const typeOf = ({ type }: Shape) => (typeof type === 'string' ? type : (type?.find(each => each !== 'null') ?? ''))
/** An array of strings is edited with one string per line. */
const isLines = (shape: Shape) => typeOf(shape) === 'array' && typeOf(shape.items ?? {}) === 'string'

/** Input that fits the schema of a key. */
export function Field({ found, text, onText }: { found: Key; text: string; onText: (text: string) => void }) {
  const shape = shapeOf(found)
  const label = `Value of ${found.key}`
  if (shape.enum || typeOf(shape) === 'boolean') {
    const choices = shape.enum?.map(String) ?? ['true', 'false']
    return (
      <select aria-label={label} value={text} onChange={event => onText(event.currentTarget.value)} ref={focusOnMount}>
        {choices.map(each => (
          <option key={each}>{each}</option>
        ))}
      </select>
    )
  }
  if (typeOf(shape) === 'number' || typeOf(shape) === 'integer') {
    return (
      <input
        type="number"
        aria-label={label}
        step={typeOf(shape) === 'integer' ? 1 : 'any'}
        min={shape.minimum ?? shape.exclusiveMinimum}
        max={shape.maximum}
        value={text}
        onInput={event => onText(event.currentTarget.value)}
        ref={focusOnMount}
      />
    )
  }
  if (typeOf(shape) === 'string') {
    const common = {
      'aria-label': label,
      value: text,
      onInput: (event: { currentTarget: { value: string } }) => onText(event.currentTarget.value),
      ref: focusOnMount,
    }
    return found.secret ? (
      <input type="password" placeholder="New value" {...common} />
    ) : (
      <input type="text" {...common} />
    )
  }
  return (
    <textarea
      class="mono"
      aria-label={label}
      rows={4}
      spellcheck={false}
      placeholder={isLines(shape) ? 'one per line' : 'JSON'}
      value={text}
      onInput={event => onText(event.currentTarget.value)}
      ref={focusOnMount}
    />
  )
}

/** Parses the typed text; text that cannot be parsed is sent as it is, for the server to reject. */
export function parsedValue(found: Key, text: string): unknown {
  const shape = shapeOf(found)
  if (isNullable(found) && text.trim() === '') return null
  if (shape.enum || typeOf(shape) === 'string') return shape.enum?.find(each => String(each) === text) ?? text
  if (typeOf(shape) === 'boolean') return text === 'true'
  if (isLines(shape) && !text.trim().startsWith('['))
    return text
      .split('\n')
      .map(line => line.trim())
      .filter(Boolean)
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Formats a key's value for display and editing. */
export function textOf(found: Key, value: unknown): string {
  if (value === null || value === undefined) return ''
  // An empty field would mean null.
  if (Array.isArray(value) && value.length === 0 && isNullable(found)) return '[]'
  if (Array.isArray(value) && value.every(each => typeof each === 'string')) return value.join('\n')
  return typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value)
}
