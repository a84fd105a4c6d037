import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

export interface Column<T> {
  name: string
  /** Of the cell; `grow` takes what is left, `number` stands right. */
  kind?: 'grow' | 'number' | 'narrow'
  /** Not shown where the window is narrow. */
  wide?: boolean
  cell: (row: T) => ComponentChildren
}

interface TableProps<T> {
  caption: string
  columns: readonly Column<T>[]
  rows: readonly T[]
  keyOf: (row: T) => string
  /** Marks rows for the eye. */
  classOf?: (row: T) => string
}

/** All rows have this height where there are so many that only those in view are drawn; as `--row` in the stylesheet. */
const ROW_PX = 56
const CARD_PX = 132
const asCards = matchMedia('(max-width: 600px)')
const rowPx = () => (asCards.matches ? CARD_PX : ROW_PX)
const MANY = 120
const BEYOND = 8
const STEP = 8

/** A table; of many rows it draws those that are in view, and stays one table for those who hear it. */
export function Table<T>({ caption, columns, rows, keyOf, classOf = () => '' }: TableProps<T>) {
  const body = useRef<HTMLTableSectionElement>(null)
  const virtual = rows.length > MANY
  const [from, to] = useWindow(body, virtual ? rows.length : 0)
  const shown = virtual ? rows.slice(from, to) : rows
  return (
    <div class="scroll">
      <table class={virtual ? 'table virtual' : 'table'} aria-rowcount={rows.length + 1}>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ name, kind = '', wide }) => (
              <th key={name} scope="col" class={`${kind} ${wide ? 'wide' : ''}`}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {virtual && <Space rows={from} columns={columns.length} />}
          {shown.map((row, at) => (
            <tr key={keyOf(row)} class={classOf(row)} aria-rowindex={virtual ? from + at + 2 : undefined}>
              {columns.map(({ name, kind = '', wide, cell }, index) =>
                index === 0 ? (
                  <th key={name} scope="row" class={`${kind} ${wide ? 'wide' : ''}`}>
                    {cell(row)}
                  </th>
                ) : (
                  <td key={name} class={`${kind} ${wide ? 'wide' : ''}`} data-label={name}>
                    {cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
          {virtual && <Space rows={rows.length - to} columns={columns.length} />}
        </tbody>
      </table>
    </div>
  )
}

function Space({ rows, columns }: { rows: number; columns: number }) {
  if (rows <= 0) return null
  return (
    <tr class="space">
      <td colSpan={columns} style={{ height: `${rows * rowPx()}px` }} />
    </tr>
  )
}

/** Which of so many rows are in view. */
function useWindow(body: { current: HTMLElement | null }, rows: number): [from: number, to: number] {
  const [range, setRange] = useState<[number, number]>([0, Math.min(rows, 40)])
  useLayoutEffect(() => {
    if (rows === 0) return
    const look = () => {
      const top = body.current?.getBoundingClientRect().top ?? 0
      // By whole steps, so that most of scrolling draws nothing anew.
      const from = Math.max(0, Math.floor(-top / rowPx() / STEP) * STEP - BEYOND)
      const to = Math.min(rows, Math.ceil((innerHeight - top) / rowPx() / STEP) * STEP + BEYOND)
      setRange(had => (had[0] === from && had[1] === to ? had : [from, Math.max(to, from)]))
    }
    look()
    addEventListener('scroll', look, { passive: true })
    addEventListener('resize', look)
    return () => {
      removeEventListener('scroll', look)
      removeEventListener('resize', look)
    }
  }, [rows])
  return range
}
