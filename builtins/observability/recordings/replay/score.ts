import type { ModelAnswer } from '#core/models/contract'
import type { RecordedStep } from '../contract.ts'
import { CONTRIBUTED, type Entry, type ErrorRecord, MODEL, type PackedValue } from '../recording/entries.ts'
import { ReadCounts } from './read-counts.ts'

/** An entry that happens at its place in the order; the others say what stands in it. */
export type Happening = Extract<Entry, ['b' | 'e' | 't' | 'n' | 'v' | 'f' | 'a' | 'o' | 'c' | 'u', ...unknown[]]>

/** The name of a transaction; logs of version 1 hold nothing else of it. */
export const WRITES = /^write\b/

/** What an actor drew from clock and ids, in its order. */
export interface ReadValues {
  ms: number[]
  monotonic: number[]
  ids: string[]
}

/** A recording, parsed: what happened in which order, and all that its entries name by a number. */
export class Score {
  readonly happenings: Happening[] = []
  /** What gives texts and long values their numbers. */
  readonly names: readonly Entry[]
  readonly #texts = new Map<number, string>()
  readonly #long = new Map<number, string>()
  readonly #drawn = new Map<number, ReadValues>()
  readonly #begun = new Map<number, { agent_id: string; cycle_num: number }>()
  readonly #reads = new ReadCounts()
  readonly #given = new Set<string>()

  /** @param process ids, which stand in some statements: of the one that recorded, and of this one */
  constructor(entries: readonly Entry[], process: { was: number; is: number }) {
    const last = new Map<number, { ms: number; micros: number }>()
    const ours = (text: string) => text.replaceAll(`pid = ${process.was} `, `pid = ${process.is} `)
    for (const entry of entries) {
      if (entry[0] === 's') this.#texts.set(entry[1], ours(entry[2]))
      else if (entry[0] === 'x') this.#long.set(entry[1], entry[2])
      else if (entry[0] === 'd') {
        const [, actor, ms, micros, ids] = entry
        const at = last.get(actor) ?? { ms: 0, micros: 0 }
        const drawn = this.valuesOf(actor)
        for (const step of ms) {
          at.ms += step
          drawn.ms.push(at.ms)
        }
        for (const step of micros) {
          at.micros += step
          drawn.monotonic.push(at.micros / 1000)
        }
        drawn.ids.push(...ids)
        last.set(actor, at)
      } else if (entry[0] === 'p' || entry[0] === 'q') {
        const kinds = entry[0] === 'p' ? 3 : 2
        let actor = 0
        for (const each of entry[1]) {
          const [part, kind] = [Math.floor(each / kinds), each % kinds]
          if (each < 0) actor = ~each
          else if (kind === 0) this.#happens(['t', actor, part])
          else this.#happens(kind === 1 ? ['v', actor, part, 0, null] : ['n', actor, part])
        }
      } else if (entry[0] === 'r') {
        const [, actor, names] = entry
        for (const name of names) this.#happens(['t', actor, name])
      } else this.#happens(entry)
    }
    this.names = entries.filter(([kind]) => kind === 's' || kind === 'x')
  }

  /** Puts what happens in its place. A read has none, but is counted. */
  #happens(happening: Happening): void {
    const reads = this.#reads
    if (this.#isRead(happening)) {
      reads.countRead(happening[1])
      return
    }
    if (happening[0] === 'b') {
      this.#begun.set(happening[1], { agent_id: happening[2], cycle_num: happening[6] })
      reads.begin(happening[1])
    } else if (happening[0] === 'e') reads.end(happening[1])
    else if (happening[0] === 'n') reads.addReads(happening[1], happening[2])
    else {
      if (happening[0] === 'v') this.#given.add(`${happening[1]} ${this.text(happening[2])}`)
      const isWrite = happening[0] === 't' || happening[0] === 'o'
      for (const unrecorded of reads.takeUnrecorded(isWrite ? undefined : (happening[1] as number)))
        this.#happens(['n', ...unrecorded])
      if (isWrite) reads.write(this.happenings.length)
    }
    this.happenings.push(happening)
  }

  /** As logs up to version 5 record each. */
  #isRead(happening: Happening): happening is ['t', number, number] {
    return happening[0] === 't' && !happening[3] && !WRITES.test(this.text(happening[2]))
  }

  text(name: number): string {
    return this.#texts.get(name) ?? ''
  }

  valuesOf(actor: number): ReadValues {
    let drawn = this.#drawn.get(actor)
    if (!drawn) {
      drawn = { ms: [], monotonic: [], ids: [] }
      this.#drawn.set(actor, drawn)
    }
    return drawn
  }

  /** The entry that says what an actor drew, up to so much of each; undefined for nothing. */
  unusedValues(actor: number, used: Record<keyof ReadValues, number>): Entry | undefined {
    const { ms, monotonic, ids } = this.valuesOf(actor)
    if (used.ms + used.monotonic + used.ids === 0) return undefined
    const micros = monotonic.slice(0, used.monotonic).map(each => Math.round(each * 1000))
    return ['d', actor, stepsOf(ms.slice(0, used.ms)), stepsOf(micros), ids.slice(0, used.ids)]
  }

  /** Returns the number of reads of a context before the next write of any context, from this place on. */
  readsBefore(actor: number, here: number): number {
    return this.#reads.countBefore(actor, here)
  }

  /** Whether an actor works this out itself: plugins' contributions up to the sixth version, and those that have come since. */
  isRecomputed(actor: number, what: string): boolean {
    return CONTRIBUTED.test(what) && !this.#given.has(`${actor} ${what}`)
  }

  ownerOf(actor: number): { agent_id: string; cycle_num: number } | undefined {
    return this.#begun.get(actor)
  }

  /** A parameter of a statement. */
  param(packed: PackedValue): unknown {
    if (typeof packed !== 'object' || packed === null) return packed
    if ('$x' in packed) return this.#long.get(packed.$x)
    if ('$j' in packed) return packed.$j
    return '$b' in packed ? Buffer.from(packed.$b, 'base64') : BigInt(packed.$n)
  }

  /** What an actor was given. */
  value(packed: PackedValue): unknown {
    if (typeof packed === 'object' && packed !== null && '$j' in packed) return structuredClone(packed.$j)
    const json = this.param(packed)
    return typeof json === 'string' && json !== '' ? (JSON.parse(json) as unknown) : undefined
  }

  /** Whether a model answered here, or failed to. */
  isStep(
    happening: Happening | undefined,
  ): happening is ['v', number, number, number | string, PackedValue, (ErrorRecord | null)?, number?] {
    return happening?.[0] === 'v' && this.text(happening[2]) === MODEL
  }
}

function stepsOf(values: readonly number[]): number[] {
  return values.map((value, n) => value - (values[n - 1] ?? 0))
}

const LONGEST_SAYING = 120

/** Counts the model answers of a recording. @param of only those of this context */
export function stepsIn(entries: readonly Entry[], of?: number): RecordedStep[] {
  const score = new Score(entries, { was: 0, is: 0 })
  const steps: RecordedStep[] = []
  let step = 0
  for (const happening of score.happenings) {
    if (!score.isStep(happening)) continue
    step++
    const [, actor, , , value, failure] = happening
    if (of !== undefined && actor !== of) continue
    const { agent_id = '', cycle_num = 0 } = score.ownerOf(actor) ?? {}
    const says = failure ? failure.message : describeAnswer(score.value(value) as Partial<ModelAnswer> | undefined)
    steps.push({
      step,
      agent_id,
      cycle_num,
      says: says.replace(/\s+/g, ' ').slice(0, LONGEST_SAYING),
    })
  }
  return steps
}

export function countsIn(entries: readonly Entry[]): { cycles: number; steps: number } {
  const cycles = entries.filter(entry => entry[0] === 'b' && entry[3] !== 'task').length
  return { cycles, steps: stepsIn(entries).length }
}

export interface RecordedTask {
  /** Who worked on it. */
  actor: number
  /** The recording up to its end. */
  entries: Entry[]
  over: boolean
}

/** A task on the recording of its process; undefined where the recording ends before it. */
export function taskIn(entries: readonly Entry[], run_id: string): RecordedTask | undefined {
  const score = new Score(entries, { was: 0, is: 0 })
  const began = score.happenings.find(
    each => each[0] === 'v' && score.text(each[2]) === 'run' && score.value(each[4]) === run_id,
  )
  if (began === undefined) return undefined
  const actor = began[1] as number
  const end = entries.findIndex(entry => entry[0] === 'e' && entry[1] === actor)
  const over = end >= 0
  // What was drawn stands behind what it was drawn for.
  const upTo = entries.filter(
    (entry, n) => !over || n <= end || entry[0] === 'd' || entry[0] === 's' || entry[0] === 'x',
  )
  return { actor, entries: upTo, over }
}

function describeAnswer({ text = '', tool_calls = [] }: Partial<ModelAnswer> = {}): string {
  return tool_calls.map(({ name }) => name).join(', ') || text
}
