import { type Effect, point, type z } from '#kernel'
import type { AppendedEvent, Statement } from '../contract.ts'

/** How a module turns one kind of write into statements. */
export interface EffectKind<P = unknown> {
  /** `module.verb`, as in `goals.complete`. */
  name: string
  schema: z.ZodType<P>
  /** The statements, in order. `now` is the commit's time in milliseconds. */
  statements(payload: P, now: number): Statement[]
  /** The events that it appends. All events of a commit are appended before its statements run. */
  events?(payload: P): AppendedEvent[]
  /** Each statement must change exactly one row; otherwise nothing of the commit is written and it is `refused`. */
  mustChange?: boolean
  /** Written even when the commit is fenced off or refused, for what has happened in any case. */
  always?: boolean
  /** Left out of the commit where its module is switched off. */
  optional?: boolean
}

/** A write that says what becomes of it without its module. */
type OptionalEffect = Effect & Pick<EffectKind, 'optional'>

export const Effects = point<EffectKind<never>>('effects', {
  key: kind => kind.name,
  has: { name: 'text', schema: 'schema', statements: 'function' },
})

/** Defines a kind of write; the result makes writes of that kind, and its `kind` is what a module adds to `Effects`. */
export function defineEffect<S extends z.ZodType>(
  kind: Omit<EffectKind<z.output<S>>, 'schema'> & { schema: S },
): ((payload: z.output<S>) => Effect) & { kind: EffectKind<never> } {
  const { name, optional } = kind
  const write = (payload: z.output<S>): OptionalEffect => ({ effect: name, payload, ...(optional ? { optional } : {}) })
  return Object.assign(write, { kind: kind as unknown as EffectKind<never> })
}

/** Returns whether a write is left out where its module is switched off. */
export function isOptional(effect: OptionalEffect): boolean {
  return effect.optional === true
}
