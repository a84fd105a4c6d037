import { visible } from './format.ts'

type Line = { kind: 'same' | 'gone' | 'new'; text: string }

/** Number of lines above which both texts are shown in full, one after the other. */
const MOST_LINES = 2_000

/** Compares two values as text, line by line: what was removed and what was added. */
export function Diff({ before, after, label }: { before: unknown; after: unknown; label: string }) {
  return <Lines lines={compareLines(textOf(before), textOf(after))} label={label} />
}

/** Patch of git, with its removed and added lines. */
export function Patch({ patch, label }: { patch: string; label: string }) {
  return <Lines lines={patchLines(patch)} label={label} />
}

function Lines({ lines, label }: { lines: readonly Line[]; label: string }) {
  return (
    // biome-ignore lint/a11y: what scrolls must be reachable by the keyboard, and is no set of fields.
    <div role="group" class="code diff" tabIndex={0} aria-label={label}>
      {lines.map(({ kind, text }, at) => (
        <div key={at} class={kind}>
          <span class="unseen">{kind === 'same' ? '' : kind === 'gone' ? 'removed: ' : 'added: '}</span>
          {visible(text) || ' '}
        </div>
      ))}
    </div>
  )
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'undefined'))

/** Returns the lines of a patch without their marks; lines that name files and positions stay as git writes them. */
function patchLines(patch: string): Line[] {
  let isHeader = true
  return patch
    .replace(/\n$/, '')
    .split('\n')
    .map(line => {
      if (line.startsWith('diff --git ')) isHeader = true
      const mark = isHeader ? '' : line[0]
      if (line.startsWith('@@ ')) isHeader = false
      if (mark === '+') return { kind: 'new', text: line.slice(1) }
      if (mark === '-') return { kind: 'gone', text: line.slice(1) }
      return { kind: 'same', text: mark === ' ' ? line.slice(1) : line }
    })
}

/** Finds the longest common subsequence of lines (Wagner and Fischer). */
function compareLines(before: string, after: string): Line[] {
  const a = before.split('\n')
  const b = after.split('\n')
  if (a.length + b.length > MOST_LINES) {
    return [...a.map(text => ({ kind: 'gone' as const, text })), ...b.map(text => ({ kind: 'new' as const, text }))]
  }
  const width = b.length + 1
  const common = new Uint16Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] =
        a[i] === b[j]
          ? common[(i + 1) * width + j + 1]! + 1
          : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!)
    }
  }
  const lines: Line[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: 'same', text: a[i]! })
      i++
      j++
    } else if (j >= b.length || (i < a.length && common[(i + 1) * width + j]! >= common[i * width + j + 1]!)) {
      lines.push({ kind: 'gone', text: a[i++]! })
    } else lines.push({ kind: 'new', text: b[j++]! })
  }
  return lines
}
