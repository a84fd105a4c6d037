import { useMemo, useState } from 'preact/hooks'
import { Code } from '../../ui/text/code.tsx'
import { count, dollars, duration, plural, visible } from '../../ui/text/format.ts'
import type { Answer } from '../../ui/types.ts'

type Span = Answer<'runs.trace'>['root']

interface Row {
  span: Span
  depth: number
}

/** Share of a lane that a label needs. */
const LABEL_SHARE = 0.22
/** Spans that are open at first: the run, its agents and their goals. */
const OPEN = new Set(['run', 'agent'])

/** A tree of spans over time: each bar is as long as its span took. */
export function Waterfall({ root }: { root: Span }) {
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set())
  const [chosen, setChosen] = useState('')
  const isOpen = (span: Span) => OPEN.has(span.kind) !== toggled.has(span.span_id)
  const rows = useMemo(() => rowsOf(root, 0, isOpen), [root, toggled])
  const [from, to] = extentOf(root)
  const toggle = ({ span_id }: Span) => {
    const next = new Set(toggled)
    if (!next.delete(span_id)) next.add(span_id)
    setToggled(next)
  }
  return (
    <>
      <Legend />
      <Axis from={from} to={to} begin={Date.parse(root.start_time)} />
      <ol class="plain waterfall">
        {rows.map(({ span, depth }) => (
          <li key={span.span_id}>
            <div class="span">
              <span class="name" style={{ paddingInlineStart: `${depth * 1.1}rem` }}>
                {span.children.length > 0 ? (
                  <button
                    type="button"
                    class="fold"
                    aria-expanded={isOpen(span)}
                    aria-label={`${plural(span.children.length, 'span')} in ${visible(span.name)}`}
                    onClick={() => toggle(span)}
                  >
                    {isOpen(span) ? '▾' : '▸'}
                  </button>
                ) : (
                  <span class="fold" />
                )}
                <button
                  type="button"
                  class="quiet small label"
                  title={nameOf(span)}
                  aria-expanded={chosen === span.span_id}
                  onClick={() => setChosen(chosen === span.span_id ? '' : span.span_id)}
                >
                  {nameOf(span)}
                </button>
              </span>
              <Bar span={span} from={from} to={to} />
            </div>
            {chosen === span.span_id && <Code value={{ ...span, children: span.children.length }} label={span.name} />}
          </li>
        ))}
      </ol>
    </>
  )
}

const KINDS = { agent: 'agent cycles', goal: 'goal', decision: 'model call', tool: 'tool call' } as const

function Legend() {
  return (
    <p class="kinds soft" aria-hidden="true">
      {Object.entries(KINDS).map(([kind, words]) => (
        <span key={kind}>
          <i class={`bar kind-${kind}`} /> {words}
        </span>
      ))}
      <span>
        <i class="bar is-error" /> failed
      </span>
    </p>
  )
}

/** Distances between time marks, in milliseconds: round units that are easy to read. */
const MARKS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 15e3, 30e3, 60e3, 120e3, 300e3, 600e3, 900e3,
].concat([1800e3, 3600e3, 7200e3, 14_400e3, 28_800e3, 86_400e3])
const MOST_MARKS = 6

/** Returns when the spans of a part began and ended, in milliseconds: the run itself is longer than its part. */
export function extentOf(root: Span): [from: number, to: number] {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  const look = ({ start_time, end_time, children }: Span) => {
    from = Math.min(from, Date.parse(start_time))
    to = Math.max(to, Date.parse(end_time ?? start_time))
    for (const child of children) look(child)
  }
  for (const child of root.children) look(child)
  if (from > to) from = Date.parse(root.start_time)
  return [from, Math.max(from + 1, to)]
}

/** Time axis over all lanes, from the start of the run. */
function Axis({ from, to, begin }: { from: number; to: number; begin: number }) {
  const apart = MARKS.find(ms => (to - from) / ms <= MOST_MARKS) ?? (to - from) / MOST_MARKS
  // The last mark needs space for its label.
  const marks = Array.from({ length: Math.floor(((to - from) * 0.84) / apart) + 1 }, (_, n) => n * apart)
  return (
    <div class="axis" aria-hidden="true">
      <div class="lane">
        {marks.map(ms => (
          <small key={ms} style={{ insetInlineStart: `${((ms / (to - from)) * 100).toFixed(3)}%` }}>
            {ms > 0 ? `+${duration(ms)}` : from > begin ? duration(from - begin) : '0'}
          </small>
        ))}
      </div>
    </div>
  )
}

function Bar({ span, from, to }: { span: Span; from: number; to: number }) {
  // Only the section of the run within this part is drawn.
  const start = Math.max(from, Date.parse(span.start_time))
  const end = Math.min(to, span.end_time === null ? to : Date.parse(span.end_time))
  const share = (ms: number) => `${((ms / (to - from)) * 100).toFixed(3)}%`
  const cost = span.cost_usd > 0 ? `, ${dollars(span.cost_usd)}` : ''
  const tokens = span.tokens > 0 ? `, ${count(span.tokens)} tokens` : ''
  const took = Date.parse(span.end_time ?? new Date(to).toISOString()) - Date.parse(span.start_time)
  const words = `${duration(Math.max(0, took))}${tokens}${cost}`
  const place = placeOf((start - from) / (to - from), (to - end) / (to - from))
  return (
    <span class="lane" title={`${span.status}, ${words}`}>
      <i
        class={`bar kind-${span.kind} is-${span.status}`}
        style={{ insetInlineStart: share(start - from), inlineSize: share(Math.max(end - start, 0)) }}
      />
      <small
        class={place}
        style={
          place === 'before'
            ? { insetInlineEnd: share(to - start) }
            : { insetInlineStart: share((place === 'after' ? end : start) - from) }
        }
      >
        {words}
      </small>
    </span>
  )
}

/** Places a label where it fits: after the bar, before it, or on it. */
function placeOf(before: number, after: number): 'before' | 'after' | 'inside' {
  if (after > LABEL_SHARE) return 'after'
  return before > LABEL_SHARE ? 'before' : 'inside'
}

function rowsOf(span: Span, depth: number, isOpen: (span: Span) => boolean): Row[] {
  const below = isOpen(span) ? newestFirst(span.children).flatMap(child => rowsOf(child, depth + 1, isOpen)) : []
  return [{ span, depth }, ...below]
}

const newestFirst = (spans: readonly Span[]) => {
  const endOf = ({ end_time }: Span) => (end_time === null ? Number.POSITIVE_INFINITY : Date.parse(end_time))
  // Of spans that ended at the same moment, the later one comes first.
  return spans.toReversed().sort((a, b) => (endOf(a) === endOf(b) ? 0 : endOf(b) - endOf(a)))
}

/** Names a step by the tools that it called, or by the model's other decision. */
function nameOf({ kind, name, attributes: { tools, decision_type, step_index } }: Span): string {
  if (kind !== 'decision') return visible(name)
  const step = typeof step_index === 'number' ? `step ${step_index}: ` : ''
  const what = Array.isArray(tools) ? tools.join(', ') : String(decision_type ?? 'answer').replaceAll('_', ' ')
  return visible(`${step}${what} · ${name}`)
}
