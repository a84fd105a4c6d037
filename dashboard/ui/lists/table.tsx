import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Once } from '../once.ts'

export interface Column<T> {
  name: string
  /** Of the cell; `grow` takes what is left, `number` stands right. */
  kind?: 'grow' | 'number' | 'narrow'
  /** Not shown where the window is narrow. */
  wide?: boolean
  /** Its name stands before it where a row is a card: it cannot be understood without. */
  labelled?: boolean
  /** What the server calls the order by this column. */
  by?: string
  /** Chosen first so, the largest at the top. */
  fallsFirst?: boolean
  cell: (row: T) => ComponentChildren
}

interface TableProps<T> {
  caption: string
  columns: readonly Column<T>[]
  rows: readonly T[]
  keyOf: (row: T) => string
  /** Marks rows for the eye. */
  classOf?: (row: T) => string
  /** Where the server sorts by a column: the chosen order, as `cost`, or `-cost` for falling. */
  order?: string
  onOrder?: (order: string) => void
  /** How high a row is as a card, where there are very many. */
  cardPx?: number
}

/**
 * Height of all rows in a long table, where only those in view are drawn. Each
 * is positioned on its own, so that only what comes into view is laid out.
 */
const ROW_PX = 56
const CARD_PX = 132
const asCards = matchMedia('(max-width: 600px)')
const MANY = 120
const BEYOND = 8
const STEP = 2

/** A table; of many rows it draws those that are in view, and stays one table for those who hear it. */
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
    // Those in view are known by the window's place: a box that scrolls by itself would hide that.
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
  /** Where it stands among all rows, and how high each is, where only some are drawn. */
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

/** The name of a column, and the way to sort by it. */
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

/** Returns which rows are in view, and how high one is. */
function useWindow(body: { current: HTMLElement | null }, rows: number, cardPx: number): InView {
  const rowPx = () => (asCards.matches ? cardPx : ROW_PX)
  const [inView, setInView] = useState<InView>(() => ({ from: 0, to: Math.min(rows, 40), px: rowPx() }))
  useLayoutEffect(() => {
    if (rows === 0) return
    const look = () => {
      const top = body.current?.getBoundingClientRect().top ?? 0
      const px = rowPx()
      // By a few rows at a time: each step of scrolling draws those that it brings, and no step many.
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
