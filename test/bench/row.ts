/** One line of the table: what a subject of the bench found. */
export interface Row {
  what: string
  figure: number
  unit: string
  /** The same work done barely, in the same run and unit. */
  baseline?: number
  ratio?: number
  aim: string
  /** null: it could not be measured cleanly, and the note says why. */
  met: boolean | null
  note?: string
}

interface Aim {
  /** What is judged; by default the figure. */
  of?: 'figure' | 'ratio'
  atMost?: number
  atLeast?: number
}

export interface RowInput extends Omit<Row, 'aim' | 'met' | 'note'> {
  /** None for a figure that is only shown. */
  aim?: Aim
  /** Why a missed aim says nothing of us. */
  unclear?: string | undefined
  note?: string | undefined
}

/** A row that is judged by its aim. What is kept in spite of a machine that hinders it is kept. */
export function row({ aim, unclear, note, ...measured }: RowInput): Row {
  const { of = 'figure', atMost = Number.POSITIVE_INFINITY, atLeast = Number.NEGATIVE_INFINITY } = aim ?? {}
  const judged = (of === 'ratio' ? measured.ratio : measured.figure) ?? Number.NaN
  const met = judged <= atMost && judged >= atLeast
  const said = [note, met ? undefined : unclear].filter(text => text !== undefined).join('; ')
  return {
    ...measured,
    aim: aim ? describeAim(aim, measured.unit) : '',
    met: aim === undefined || met ? true : unclear === undefined ? false : null,
    ...(said === '' ? {} : { note: said }),
  }
}

function describeAim({ of, atMost, atLeast }: Aim, unit: string): string {
  const bound = atMost === undefined ? `≥ ${atLeast}` : `≤ ${atMost}`
  return of === 'ratio' ? `${bound} ×` : `${bound} ${unit}`.trim()
}
