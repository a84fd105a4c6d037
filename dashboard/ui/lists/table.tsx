import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Once } from '../once.ts'

export interface Column<T> {
  name: string
  /** Kind of cell: `grow` takes the remaining width, `number` is aligned right. */
  kind?: 'grow' | 'number' | 'narrow'
  /** Whether the column is hidden in narrow windows. */
  wide?: boolean
  /** Whether the column's name precedes the value where a row is a card, because the value is unclear without it. */
  labelled?: boolean
  /** Name by which the server sorts by this column. */
  by?: string
  /** Whether the first click sorts in descending order. */
  fallsFirst?: boolean
  cell: (row: T) => ComponentChildren
}

interface TableProps<T> {
  caption: string
  columns: readonly Column<T>[]
  rows: readonly T[]
  keyOf: (row: T) => string
  /** Returns the CSS class of a row. */
  classOf?: (row: T) => string
  /** Current order if the server sorts: `cost`, or `-cost` for descending. */
  order?: string
  onOrder?: (order: string) => void
  /** Height of a row that is shown as a card in a very long table, in pixels. */
  cardPx?: number
}

/**
 * Height of each row in a long table, in pixels. Only rows in view are drawn, each with its own position, so that only
 * new ones are laid out.
 */
const ROW_PX = 56
const CARD_PX = 132
const asCards = matchMedia('(max-width: 600px)')
const MANY = 120
const BEYOND = 8
const STEP = 2

/** Table that draws only the rows in view if there are many, and is one whole table for screen readers. */
export function Table<T>({
  caption,
  columns,
  rows,
  keyOf,
  classOf = () => '',
  order = '',
  onOrder,
  cardPx = CARD_PX,
}: TableProps<T>) {
  const body = useRef<HTMLTableSectionElement>(null)
  const virtual = rows.length > MANY
  const { from, to, px } = useWindow(body, virtual ? rows.length : 0, cardPx)
  const shown = virtual ? rows.slice(from, to) : rows
  return (
    // The window's scroll position decides which rows are in view: a box with its own scroll bar would hide it.
    <div class={virtual ? '' : 'scroll'}>
      <table class={virtual ? 'table virtual' : 'table'} aria-rowcount={rows.length + 1}>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map(column => (
              <Heading key={column.name} column={column} order={order} onOrder={onOrder} />
            ))}
          </tr>
        </thead>
        <tbody ref={body} style={virtual ? { blockSize: `${rows.length * px}px` } : undefined}>
          {shown.map((row, at) => {
            const place = virtual ? { index: from + at, px } : undefined
            return (
              <Once
                key={keyOf(row)}
                of={[row, columns, place?.index, place?.px, classOf(row)]}
                draw={() => <Row row={row} columns={columns} place={place} class={classOf(row)} />}
              />
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

interface RowProps<T> {
  row: T
  columns: readonly Column<T>[]
  /** Index among all rows and height of each row, if only some are drawn. */
  place: { index: number; px: number } | undefined
  class: string
}

function Row<T>({ row, columns, place, class: className }: RowProps<T>) {
  return (
    <tr
      class={className}
      {...(place && {
        'aria-rowindex': place.index + 2,
        style: { insetBlockStart: `${place.index * place.px}px`, blockSize: `${place.px}px` },
      })}
    >
      {columns.map(({ name, kind = '', wide, labelled, cell }, at) =>
        at === 0 ? (
          <th key={name} scope="row" class={`${kind} ${wide ? 'wide' : ''}`}>
            {cell(row)}
          </th>
        ) : (
          <td key={name} class={`${kind} ${wide ? 'wide' : ''} ${labelled ? 'labelled' : ''}`} data-label={name}>
            {cell(row)}
          </td>
        ),
      )}
    </tr>
  )
}

interface HeadingProps<T> {
  column: Column<T>
  order: string
  onOrder: ((order: string) => void) | undefined
}

/** Name of a column, and the button to sort by it. */
function Heading<T>({ column, order, onOrder }: HeadingProps<T>) {
  const { name, kind = '', wide, by, fallsFirst = false } = column
  const rises = by !== undefined && order === by
  const falls = by !== undefined && order === `-${by}`
  const chosen = rises ? 'ascending' : falls ? 'descending' : undefined
  return (
    <th scope="col" class={`${kind} ${wide ? 'wide' : ''}`} aria-sort={chosen}>
      {by && onOrder ? (
        <button
          type="button"
          class="sort"
          onClick={() => onOrder((chosen === undefined ? fallsFirst : rises) ? `-${by}` : by)}
        >
          {name}
          <span aria-hidden="true">{rises ? '↑' : falls ? '↓' : ''}</span>
        </button>
      ) : (
        name
      )}
    </th>
  )
}

interface InView {
  from: number
  to: number
  px: number
}

/** Returns the rows in view, and the height of one. */
function useWindow(body: { current: HTMLElement | null }, rows: number, cardPx: number): InView {
  const rowPx = () => (asCards.matches ? cardPx : ROW_PX)
  const [inView, setInView] = useState<InView>(() => ({ from: 0, to: Math.min(rows, 40), px: rowPx() }))
  useLayoutEffect(() => {
    if (rows === 0) return
    const look = () => {
      const top = body.current?.getBoundingClientRect().top ?? 0
      const px = rowPx()
      // Moves by a few rows at a time, so that no step of scrolling draws many.
      const from = Math.max(0, Math.floor(-top / px / STEP) * STEP - BEYOND)
      const to = Math.max(from, Math.min(rows, Math.ceil((innerHeight - top) / px / STEP) * STEP + BEYOND))
      setInView(had => (had.from === from && had.to === to && had.px === px ? had : { from, to, px }))
    }
    look()
    addEventListener('scroll', look, { passive: true })
    addEventListener('resize', look)
    return () => {
      removeEventListener('scroll', look)
      removeEventListener('resize', look)
    }
  }, [rows, cardPx])
  return inView
}
