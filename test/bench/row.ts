/** One row of the table: a result of a benchmark. */
export interface Row {
  what: string
  figure: number
  unit: string
  /** The same work in a bare loop, in the same run and unit. */
  baseline?: number
  ratio?: number
  aim: string
  /** null: it could not be measured cleanly, and the note says why. */
  met: boolean | null
  note?: string
}

interface Aim {
  /** The value that is judged; the figure by default. */
  of?: 'figure' | 'ratio'
  atMost?: number
  atLeast?: number
}

export interface RowInput extends Omit<Row, 'aim' | 'met' | 'note'> {
  /** Undefined for a figure that is only shown. */
  aim?: Aim
  /** Reason why a missed aim says nothing about the service. */
  unclear?: string | undefined
  note?: string | undefined
}

/** Returns a row that is judged by its aim. An aim counts as met even if the machine was busy. */
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
