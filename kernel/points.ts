import { z } from 'zod'
import { ConflictError } from './errors.ts'
import type { Hook, Hooks } from './hooks.ts'
import type { CycleBoundary } from './interceptor.ts'
import type { Undo } from './scope.ts'

/** What the contributions of a point must be. */
export interface PointRules<C> {
  /** What a contribution must be: zod's, or what else throws. Those of the builtins are looked at by their tests, and by no start. */
  shape?: { parse: (contribution: C) => unknown }
  /** What else no other contribution may have, of this point or another, as an error names it: `GET /agents/{}`. */
  claims?: (contribution: C) => readonly string[]
  /** Refuses a bad contribution, also beside those that are there, by throwing. */
  check?: (contribution: C, others: readonly Contribution<C>[]) => void
}

export interface PointOptions<C> extends PointRules<C> {
  /** The name that must be unique among the contributions. */
  key: (contribution: C) => string
  /** How a contribution takes part when the point's hook is asked; without it the point only lists. The first answer wins. */
  ask?: (contribution: C, question: never) => unknown
  /** Ordering of a contribution among the others; see `TapOptions`. */
  stage?: (contribution: C) => number | undefined
  /** What a contribution must have, each of this kind. Those of the builtins are looked at by the compiler, and by no start. */
  has?: Fields
  /** The function that cycles ask for an answer: what a plugin's file answers is recorded, for what it rests on is not. */
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
  /** Frozen once they have been returned; then a change begins with a copy. */
  contributions: Contribution<unknown>[]
  byKey: Map<string, Contribution<unknown>>
  hook: Hook<unknown, unknown>
  listeners: Set<() => void>
  /** The point's own, and those that modules have added. */
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
   * @param from a builtin's shape was looked at before; what a file answers is recorded
   * @throws ConflictError naming both owners when the key or a claim is taken; TypeError for what it lacks; what the point's shape throws
   */
  add<C>(point: Point<C>, given: C, owner: string, from: { builtin?: boolean; ofFile?: boolean } = {}): Undo {
    const registry = this.#registry(point)
    const rules = registry.rules as unknown as PointRules<C>[]
    if (!from.builtin) {
      checkFields(point.name, point.options.has, given, owner)
      for (const { shape } of rules) shape?.parse(given)
    }
    const value = from.ofFile ? answering(point, given, this.#boundary) : given
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
    const at = stage?.(value)
    const untap = ask
      ? registry.hook.tap({ name: `${owner}/${key}`, ...(at === undefined ? {} : { stage: at }) }, question =>
          ask(value, question as never),
        )
      : undefined
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

  /** How a contribution is listed. @throws TypeError for none, and for no point */
  label<C>(point: Point<C>, contribution: C, owner: string): string {
    const { name, options } = Object(point) as Partial<Point<C>>
    if (!options)
      throw new TypeError(`"${owner}" adds to what is no point; import one from 'svc', or make it with point()`)
    if (contribution === undefined || contribution === null)
      throw new TypeError(`what "${owner}" adds to ${name} is ${contribution}`)
    return `${name}: ${options.key(contribution)}`
  }

  /** Makes points known, whose hooks are then there to be tapped before anything is contributed. */
  open(...points: readonly Point<never>[]): void {
    for (const point of points) this.#registry(point)
  }

  /** Adds rules to a point, for what is contributed from now on: of the interfaces of operations, say. */
  restrict<C>(point: Point<C>, rules: PointRules<C>): void {
    this.#registry(point).rules.push(rules)
  }

  /** All contributions, in the order in which they were added. */
  list<C>(point: Point<C>): readonly Contribution<C>[] {
    return Object.freeze(this.#registry(point).contributions) as readonly Contribution<C>[]
  }

  find<C>(point: Point<C>, key: string): C | undefined {
    return this.#registry(point).byKey.get(key)?.value as C | undefined
  }

  /** Asks the contributions; the first answer that is not undefined wins, and is returned at once where all answer at once. Rethrows errors. */
  ask<C, Q, A>(point: Point<C>, question: Q): A | undefined | Promise<A | undefined> {
    return this.#registry(point).hook.call(question) as A | undefined | Promise<A | undefined>
  }

  /** Every point that is in use, by name, with its contributions. */
  all(): ReadonlyMap<string, readonly Contribution<unknown>[]> {
    return new Map([...this.#registries].map(([name, { contributions }]) => [name, Object.freeze(contributions)]))
  }

  /** Calls back when contributions came or went. */
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

/** Returns a contribution whose answers to cycles go through their boundary. */
function answering<C>({ name, options: { asked, key } }: Point<C>, contribution: C, boundary: CycleBoundary): C {
  const answer = asked && contribution?.[asked]
  if (!asked || typeof answer !== 'function') return contribution
  const label = `${name}: ${key(contribution)}`
  const ask = (...question: unknown[]) => boundary.ask(label, async () => answer.apply(contribution, question))
  const get = (own: object, field: PropertyKey) => (field === asked ? ask : Reflect.get(own, field, own))
  return new Proxy(contribution as object, { get }) as C
}

/** Kinds of what plugins give, each with how an error asks for it. */
const KINDS = {
  text: (field: string) => `${field}, a text`,
  number: (field: string) => `${field}, a number`,
  list: (field: string) => `${field}, a list`,
  schema: (field: string) => `${field}, a zod schema`,
  function: (field: string) => `${field}()`,
}

/** What something must have, each of its kind. */
export type Fields = Readonly<Record<string, keyof typeof KINDS>>

/** Looks at what a plugin adds to a place, before it is wrapped in anything. @throws TypeError that says what it lacks */
export function checkFields(place: string, has: Fields = {}, value: unknown, owner: string): void {
  const given = Object(value) as Record<string, unknown>
  const lacking = Object.entries(has).filter(([field, kind]) => !isOfKind(given[field], kind))
  if (lacking.length === 0) return
  const asked = lacking.map(([field, kind]) => KINDS[kind](field)).join('; ')
  throw new TypeError(`what "${owner}" adds to ${place} needs ${asked}`)
}

function isOfKind(value: unknown, kind: keyof typeof KINDS): boolean {
  if (kind === 'text') return typeof value === 'string' && value !== ''
  if (kind === 'list') return Array.isArray(value)
  if (kind === 'schema') return value instanceof z.ZodType
  return typeof value === kind
}
