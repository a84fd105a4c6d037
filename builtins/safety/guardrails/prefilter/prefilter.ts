import { Literals } from './literals.ts'
import { needsOf, type RequiredLiteral } from './needs.ts'

/** Size of a block, in characters; positions of literals are stored as block numbers. */
const BLOCK = 64

/** A match with its position. */
export interface Match {
  start: number
  end: number
  found: RegExpExecArray
}

/** A text, and for each required literal the blocks in which it ends, in order. */
interface Reading {
  text: string
  blocks: readonly (readonly number[] | undefined)[]
}

/** No candidates. */
export const NOWHERE: readonly Match[] = []

interface Condition {
  /** Number of each set of literals, with the range of blocks relative to the start of a match. */
  needs: readonly { set: number; least: number; most: number }[]
  longest: number
  behind: number
  ahead: number
}

/**
 * Runs many expressions only where they may match. One pass over a text finds the literals that they require; an
 * expression runs only where all of its literals are close enough to each other. The result is the same as on the whole
 * text, and most expressions never run.
 */
export class Prefilter {
  readonly #expressions: () => readonly RegExp[]
  #made: { wanted: Map<RegExp, Condition>; literals: Literals; sets: readonly (readonly number[])[] } | undefined
  #last: Reading | undefined

  /** @param expressions global expressions; called at the first use */
  constructor(expressions: () => readonly RegExp[]) {
    this.#expressions = expressions
  }

  /** Returns the matches of an expression, like `matchAll`. */
  matches(text: string, expression: RegExp): Iterable<Match> {
    const wanted = this.#make().wanted.get(expression)
    if (!wanted) throw new TypeError(`the prefilter was created without the expression ${expression}`)
    const ranges = startsOf(wanted, this.#read(text))
    return ranges.length === 0 ? NOWHERE : matchesIn(text, expression, wanted, ranges)
  }

  #make() {
    if (this.#made) return this.#made
    const sets = new Map<string, number>()
    const byLiteral = new Map<string, number[]>()
    const wanted = new Map<RegExp, Condition>()
    for (const expression of this.#expressions()) {
      const { needs, ...rest } = needsOf(expression)
      wanted.set(expression, { needs: needs.map(need => locateNeed(need, number(need))), ...rest })
    }
    function number({ any }: RequiredLiteral): number {
      const name = JSON.stringify(any.toSorted())
      const known = sets.get(name)
      if (known !== undefined) return known
      for (const literal of any) byLiteral.set(literal, [...(byLiteral.get(literal) ?? []), sets.size])
      sets.set(name, sets.size)
      return sets.size - 1
    }
    this.#made = { wanted, literals: new Literals([...byLiteral.keys()]), sets: [...byLiteral.values()] }
    return this.#made
  }

  /** The last result is cached, because many expressions run on the same text. */
  #read(text: string): Reading {
    if (this.#last?.text === text) return this.#last
    const { literals, sets } = this.#make()
    const blocks: number[][] = []
    literals.find(text, BLOCK, (literal, block) => {
      for (const set of sets[literal] as readonly number[]) {
        const known = blocks[set]
        if (!known) blocks[set] = [block]
        else if (known.at(-1) !== block) known.push(block)
      }
    })
    this.#last = { text, blocks }
    return this.#last
  }
}

/** Returns the range of blocks in which the literal may end, relative to the start of a match. */
function locateNeed({ any, min, max }: RequiredLiteral, set: number) {
  const lengths = any.map(literal => literal.length)
  const least = Math.floor((min + Math.min(...lengths) - 1) / BLOCK)
  const most = Math.floor((max + Math.max(...lengths) - 1 + BLOCK - 1) / BLOCK)
  return { set, least, most }
}

function* matchesIn(text: string, expression: RegExp, wanted: Condition, ranges: readonly Range[]): Generator<Match> {
  let past = 0
  for (const { first, last } of ranges) {
    const begin = Math.max(0, first - wanted.behind)
    const part = text.slice(begin, last + wanted.longest + wanted.ahead)
    // Sets `lastIndex` each time, because other iterations may use the expression in between.
    for (past = Math.max(past, first); past <= last; ) {
      expression.lastIndex = past - begin
      const found = expression.exec(part)
      if (!found || begin + found.index > last) break
      past = begin + expression.lastIndex
      yield { start: begin + found.index, end: past, found }
    }
  }
}

interface Range {
  first: number
  last: number
}

/** Returns the ranges in which a match may start: all required literals are within reach. */
function startsOf({ needs }: Condition, { text, blocks }: Reading): Range[] {
  const lists: (readonly number[])[] = []
  for (const { set } of needs) {
    const list = blocks[set]
    if (!list) return []
    lists.push(list)
  }
  const ranges: Range[] = []
  const reached = needs.map(() => 0)
  const end = Math.floor(text.length / BLOCK)
  search: for (let block = 0; block <= end; block++) {
    for (let n = 0; n < needs.length; n++) {
      const { least, most } = needs[n] as Condition['needs'][number]
      const list = lists[n] as readonly number[]
      let at = reached[n] as number
      while (at < list.length && (list[at] as number) < block + least) at++
      reached[n] = at
      if (at === list.length) break search
      const nearest = list[at] as number
      if (nearest > block + most) {
        block = nearest - most - 1
        continue search
      }
    }
    const first = block * BLOCK
    const open = ranges.at(-1)
    if (open && open.last + 1 === first) open.last += BLOCK
    else ranges.push({ first, last: first + BLOCK - 1 })
  }
  return ranges
}
