import { z } from 'zod'
import { ConflictError } from './errors.ts'
import type { Hook, Hooks } from './hooks.ts'
import type { CycleBoundary } from './interceptor.ts'
import type { Undo } from './scope.ts'

/** Requirements on the contributions of a point. */
export interface PointRules<C> {
  /** Schema of a contribution: zod's, or a function that throws. Contributions of modules are checked in tests only. */
  shape?: { parse: (contribution: C) => unknown }
  /** Further names that must be unique across points, as errors show them: `GET /agents/{}`. */
  claims?: (contribution: C) => readonly string[]
  /** Throws for a bad contribution, or for one that conflicts with the present ones. */
  check?: (contribution: C, others: readonly Contribution<C>[]) => void
}

export interface PointOptions<C> extends PointRules<C> {
  /** The name that must be unique among the contributions. */
  key: (contribution: C) => string
  /** Calls a contribution when the point is asked; the first answer wins. Without it the point only lists. */
  ask?: (contribution: C, question: never) => unknown
  /** Ordering of a contribution among the others; see `TapOptions`. */
  stage?: (contribution: C) => number | undefined
  /** Fields that a contribution must have, with their kinds. Contributions of modules are checked by the compiler only. */
  has?: Fields
  /** Name of the function that cycles call. Answers of plugin files are recorded, because their inputs are not. */
  asked?: keyof C & string
}

/** A place where plugins contribute things of one kind. */
export interface Point<C> {
  readonly name: string
  readonly options: PointOptions<C>
}

/** Declares a point; plugins contribute to it with `svc.add`. */
export function point<C>(name: string, options: PointOptions<C>): Point<C> {
  return Object.freeze({ name, options })
}

export interface Contribution<C> {
  readonly key: string
  readonly owner: string
  readonly value: C
}

interface Registry {
  /** Becomes immutable once it has been returned; a later change copies it. */
  contributions: Contribution<unknown>[]
  byKey: Map<string, Contribution<unknown>>
  hook: Hook<unknown, unknown>
  listeners: Set<() => void>
  /** Rules of the point, and those that modules have added. */
  rules: PointRules<never>[]
}

/** The registries of all points. A list of contributions is an immutable snapshot. */
export class Points {
  readonly #hooks: Hooks
  readonly #boundary: CycleBoundary
  readonly #registries = new Map<string, Registry>()
  readonly #byClaim = new Map<string, Contribution<unknown>>()

  constructor(hooks: Hooks, boundary: CycleBoundary) {
    this.#hooks = hooks
    this.#boundary = boundary
  }

  /**
   * @param from whether the owner is a module, whose shape is not checked, or a file, whose answers are recorded
   * @throws ConflictError that names both owners if the key or a claim is taken; TypeError for a missing field
   */
  add<C>(point: Point<C>, given: C, owner: string, from: { builtin?: boolean; ofFile?: boolean } = {}): Undo {
    const registry = this.#registry(point)
    const rules = registry.rules as unknown as PointRules<C>[]
    if (!from.builtin) {
      checkFields(point.name, point.options.has, given, owner)
      for (const { shape } of rules) shape?.parse(given)
    }
    const value = from.ofFile ? recordAnswers(point, given, this.#boundary) : given
    for (const { check } of rules) check?.(value, registry.contributions as readonly Contribution<C>[])
    const key = point.options.key(value)
    const earlier = registry.byKey.get(key)
    if (earlier) {
      throw new ConflictError({
        message: `"${owner}" adds "${key}" to ${point.name}, but "${earlier.owner}" already did; give one of them another name.`,
      })
    }
    const claims = rules.flatMap(rule => rule.claims?.(value) ?? [])
    for (const claim of claims) {
      const other = this.#byClaim.get(claim)
      if (!other) continue
      throw new ConflictError({
        message: `"${owner}" adds "${key}" to ${point.name} with ${claim}, but "${other.key}" of "${other.owner}" already has it; give one of them another.`,
      })
    }
    const contribution = { key, owner, value }
    const { ask, stage } = point.options
    const tap = { name: `${owner}/${key}`, stage: stage?.(value) }
    const untap = ask && registry.hook.tap(tap, question => ask(value, question as never))
    if (Object.isFrozen(registry.contributions)) registry.contributions = [...registry.contributions]
    registry.contributions.push(contribution)
    registry.byKey.set(key, contribution)
    for (const claim of claims) this.#byClaim.set(claim, contribution)
    this.#notify(registry)
    return () => {
      void untap?.()
      registry.contributions = registry.contributions.filter(other => other !== contribution)
      if (registry.byKey.get(key) === contribution) registry.byKey.delete(key)
      for (const claim of claims) if (this.#byClaim.get(claim) === contribution) this.#byClaim.delete(claim)
      this.#notify(registry)
    }
  }

  /** Returns the key of a contribution. @throws TypeError if it has none, or if the point is unknown */
  label<C>(point: Point<C>, contribution: C, owner: string): string {
    const { name, options } = Object(point) as Partial<Point<C>>
    if (!options)
      throw new TypeError(`"${owner}" names no point to add to; import one from 'svc', or create it with point()`)
    if (contribution === undefined || contribution === null)
      throw new TypeError(`the contribution of "${owner}" to ${name} is ${contribution}`)
    return `${name}: ${options.key(contribution)}`
  }

  /** Registers points, so that their hooks can be tapped before anything is contributed. */
  open(...points: readonly Point<never>[]): void {
    for (const point of points) this.#registry(point)
  }

  /** Adds rules to a point for later contributions. Interfaces add theirs to operations, for example. */
  restrict<C>(point: Point<C>, rules: PointRules<C>): void {
    this.#registry(point).rules.push(rules)
  }

  /** Returns all contributions, in the order in which they were added. */
  list<C>(point: Point<C>): readonly Contribution<C>[] {
    return Object.freeze(this.#registry(point).contributions) as readonly Contribution<C>[]
  }

  find<C>(point: Point<C>, key: string): C | undefined {
    return this.#registry(point).byKey.get(key)?.value as C | undefined
  }

  /** Calls the contributions; returns the first answer that is not undefined, synchronously if all are synchronous. Rethrows errors. */
  ask<C, Q, A>(point: Point<C>, question: Q): A | undefined | Promise<A | undefined> {
    return this.#registry(point).hook.call(question) as A | undefined | Promise<A | undefined>
  }

  /** Returns every point that is in use, by name, with its contributions. */
  all(): ReadonlyMap<string, readonly Contribution<unknown>[]> {
    return new Map([...this.#registries].map(([name, { contributions }]) => [name, Object.freeze(contributions)]))
  }

  /** Calls back after contributions were added or removed. */
  onChange<C>(point: Point<C>, listener: () => void): Undo {
    const { listeners } = this.#registry(point)
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }

  #registry(point: Point<never>): Registry {
    let registry = this.#registries.get(point.name)
    if (!registry) {
      const hook = this.#hooks.declare<unknown, unknown>(point.name, { kind: 'bail' })
      registry = { contributions: [], byKey: new Map(), hook, listeners: new Set(), rules: [point.options] }
      this.#registries.set(point.name, registry)
    }
    return registry
  }

  #notify(registry: Registry): void {
    for (const listener of registry.listeners) listener()
  }
}

/** Wraps a contribution, so that its answers pass the boundary of the cycle. */
function recordAnswers<C>({ name, options: { asked, key } }: Point<C>, contribution: C, boundary: CycleBoundary): C {
  const answer = asked && contribution?.[asked]
  if (!asked || typeof answer !== 'function') return contribution
  const label = `${name}: ${key(contribution)}`
  const ask = (...question: unknown[]) => boundary.ask(label, async () => answer.apply(contribution, question))
  const get = (own: object, field: PropertyKey) => (field === asked ? ask : Reflect.get(own, field, own))
  return new Proxy(contribution as object, { get }) as C
}

/** Kinds of fields, each with the words of its error. */
const KINDS = {
  text: (field: string) => `${field}, a string`,
  number: (field: string) => `${field}, a number`,
  list: (field: string) => `${field}, an array`,
  schema: (field: string) => `${field}, a zod schema`,
  function: (field: string) => `${field}()`,
}

/** Names and kinds of required fields. */
export type Fields = Readonly<Record<string, keyof typeof KINDS>>

/** Checks the fields of a contribution before it is wrapped. @throws TypeError that names the missing field */
export function checkFields(place: string, has: Fields = {}, value: unknown, owner: string): void {
  const given = Object(value) as Record<string, unknown>
  const lacking = Object.entries(has).filter(([field, kind]) => !isOfKind(given[field], kind))
  if (lacking.length === 0) return
  const requirements = lacking.map(([field, kind]) => KINDS[kind](field)).join('; ')
  throw new TypeError(`the contribution of "${owner}" to ${place} needs ${requirements}`)
}

function isOfKind(value: unknown, kind: keyof typeof KINDS): boolean {
  if (kind === 'text') return typeof value === 'string' && value !== ''
  if (kind === 'list') return Array.isArray(value)
  if (kind === 'schema') return value instanceof z.ZodType
  return typeof value === kind
}
