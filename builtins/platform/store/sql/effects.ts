import { type Effect, point, type z } from '#kernel'
import type { AppendedEvent, Statement } from '../contract.ts'
import type { Condition } from './columns.ts'

/** Defines how a module turns one kind of effect into statements. */
export interface EffectKind<P = unknown> {
  /** Name as `module.verb`, such as `goals.complete`. */
  name: string
  schema: z.ZodType<P>
  /** Returns one statement, or several in order. `now` is the commit's time in milliseconds. */
  statements(payload: P, now: number): Statement | Statement[]
  /** Returns the events to append. All events of a commit are appended before its statements run. */
  events?(payload: P): AppendedEvent[]
  /** Each statement must change exactly one row; otherwise the whole commit is rolled back as `refused`. */
  mustChange?: boolean
  /** Written even when the commit is fenced off or refused, for facts that hold in any case. */
  always?: boolean
  /** Left out of the commit when its module is disabled. */
  optional?: boolean
}

/** An effect that says whether it may be left out without its module. */
type OptionalEffect = Effect & Pick<EffectKind, 'optional'>

export const Effects = point<EffectKind<never>>('effects', {
  key: kind => kind.name,
  has: { name: 'text', schema: 'schema', statements: 'function' },
})

/** Defines a kind of effect. The result creates effects of that kind; its `kind` is what a module adds to `Effects`. */
export function defineEffect<S extends z.ZodType>(
  kind: Omit<EffectKind<z.output<S>>, 'schema'> & { schema: S },
): ((payload: z.output<S>) => Effect) & { kind: EffectKind<never> } {
  const { name, optional } = kind
  const write = (payload: z.output<S>): OptionalEffect => ({ effect: name, payload, ...(optional ? { optional } : {}) })
  return Object.assign(write, { kind: kind as unknown as EffectKind<never> })
}

/** Returns whether an effect is left out when its module is disabled. */
export function isOptional(effect: OptionalEffect): boolean {
  return effect.optional === true
}

/**
 * Returns a statement that inserts a row, given as its columns.
 * @param conflict an ON CONFLICT clause
 */
export function insertInto(table: string, row: object, conflict = ''): Statement {
  const columns = Object.keys(row)
  const marks = new Array(columns.length).fill('?')
  return { sql: `INSERT INTO ${table} (${columns}) VALUES (${marks}) ${conflict}`, params: Object.values(row) }
}

/** Returns a statement that inserts a row if a condition holds. See `insertInto`. */
export function insertIf(table: string, row: object, { where, params }: Condition, conflict = ''): Statement {
  const columns = Object.keys(row)
  const marks = new Array(columns.length).fill('?')
  return {
    sql: `INSERT INTO ${table} (${columns}) SELECT ${marks} WHERE ${where} ${conflict}`,
    params: [...Object.values(row), ...params],
  }
}
