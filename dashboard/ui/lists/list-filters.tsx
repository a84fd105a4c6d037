import { type Place, refine, usePlace } from '../../routes.ts'
import { Pick } from './filters.tsx'

type Query = Place['query']

/** Returns the order in the address; newest first by default. */
export function orderIn({ order }: Query): 'newest' | 'oldest' {
  return order === 'oldest' ? 'oldest' : 'newest'
}

/** Returns the value of a filter in the address if it is one of these. */
export function chosenIn<T extends string>(query: Query, name: string, values: readonly T[]): T | undefined {
  return values.find(value => value === query[name])
}

/** Returns the ids of choices, in their order. */
export const idsOf = <T extends object>(choices: T) => Object.keys(choices) as (keyof T & string)[]

/** Select field for one value of a filter, or all; the address stores it. */
export function Choice({ label, name, values }: { label: string; name: string; values: readonly string[] }) {
  const { query } = usePlace()
  return (
    <Pick
      label={label}
      value={chosenIn(query, name, values) ?? ''}
      onPick={value => refine({ [name]: value || undefined, page: undefined })}
    >
      <option value="">{`Any ${label.toLowerCase()}`}</option>
      {values.map(value => (
        <option key={value} value={value}>
          {value}
        </option>
      ))}
    </Pick>
  )
}

/** Chooses which rows come first. */
export function Order() {
  const { query } = usePlace()
  return (
    <Pick
      label="Order"
      value={orderIn(query)}
      onPick={order => refine({ order: order === 'oldest' ? order : undefined, page: undefined })}
    >
      <option value="newest">newest first</option>
      <option value="oldest">oldest first</option>
    </Pick>
  )
}
