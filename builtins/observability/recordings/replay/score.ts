import type { ModelAnswer } from '#core/models/contract'
import type { RecordedStep } from '../contract.ts'
import { CONTRIBUTED, type Entry, type ErrorRecord, MODEL, type PackedValue } from '../recording/entries.ts'
import { ReadCounts } from './read-counts.ts'

/** An entry with a place in the order of the recording; all others are definitions and values. */
export type Happening = Extract<Entry, ['b' | 'e' | 't' | 'n' | 'v' | 'f' | 'a' | 'o' | 'c' | 'u', ...unknown[]]>

/** Matches the name of a transaction; in version 1 the name is just `write`. */
export const WRITES = /^write\b/

/** Nondeterministic values that a context read, in order. */
export interface ReadValues {
  ms: number[]
  monotonic: number[]
  ids: string[]
}

/** A parsed recording: its entries in order, and the strings and values that they name by number. */
export class Score {
  readonly happenings: Happening[] = []
  /** Entries that define the numbers of strings and long values. */
  readonly names: readonly Entry[]
  readonly #texts = new Map<number, string>()
  readonly #long = new Map<number, string>()
  readonly #drawn = new Map<number, ReadValues>()
  readonly #begun = new Map<number, { agent_id: string; cycle_num: number }>()
  readonly #reads = new ReadCounts()
  readonly #given = new Set<string>()

  /** @param process ids of the recording process and of this one, which occur in some statements */
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

  /** Adds an entry to the order. A read is only counted. */
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

  /** Returns whether an entry is a single read, as logs up to version 5 record them. */
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

  /** Returns the entry with the values that a context has used so far; undefined if there are none. */
  drawnEntry(actor: number, used: Record<keyof ReadValues, number>): Entry | undefined {
    const { ms, monotonic, ids } = this.valuesOf(actor)
    if (used.ms + used.monotonic + used.ids === 0) return undefined
    const micros = monotonic.slice(0, used.monotonic).map(each => Math.round(each * 1000))
    return ['d', actor, stepsOf(ms.slice(0, used.ms)), stepsOf(micros), ids.slice(0, used.ids)]
  }

  /** Returns the number of reads of a context before the next write of any context, from `here` on. */
  readsBefore(actor: number, here: number): number {
    return this.#reads.countBefore(actor, here)
  }

  /**
   * Returns whether a context computes an input itself: plugin contributions in logs up to version 6, and contributions
   * added since the recording.
   */
  isRecomputed(actor: number, what: string): boolean {
    return CONTRIBUTED.test(what) && !this.#given.has(`${actor} ${what}`)
  }

  ownerOf(actor: number): { agent_id: string; cycle_num: number } | undefined {
    return this.#begun.get(actor)
  }

  /** Unpacks a parameter of a statement. */
  param(packed: PackedValue): unknown {
    if (typeof packed !== 'object' || packed === null) return packed
    if ('$x' in packed) return this.#long.get(packed.$x)
    if ('$j' in packed) return packed.$j
    return '$b' in packed ? Buffer.from(packed.$b, 'base64') : BigInt(packed.$n)
  }

  /** Unpacks an input of a context. */
  value(packed: PackedValue): unknown {
    if (typeof packed === 'object' && packed !== null && '$j' in packed) return structuredClone(packed.$j)
    const json = this.param(packed)
    return typeof json === 'string' && json !== '' ? (JSON.parse(json) as unknown) : undefined
  }

  /** Returns whether an entry is a model's answer or failure. */
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

/**
 * Returns the model answers of a recording.
 * @param of only those of this context
 */
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
  /** Context that worked on the task. */
  actor: number
  /** The recording up to the end of the task. */
  entries: Entry[]
  over: boolean
}

/** Finds a task in the recording of its process; undefined if the recording ends before the task. */
export function taskIn(entries: readonly Entry[], run_id: string): RecordedTask | undefined {
  const score = new Score(entries, { was: 0, is: 0 })
  const began = score.happenings.find(
    each => each[0] === 'v' && score.text(each[2]) === 'run' && score.value(each[4]) === run_id,
  )
  if (began === undefined) return undefined
  const actor = began[1] as number
  const end = entries.findIndex(entry => entry[0] === 'e' && entry[1] === actor)
  const over = end >= 0
  // Nondeterministic values are recorded after the entries that they belong to.
  const upTo = entries.filter(
    (entry, n) => !over || n <= end || entry[0] === 'd' || entry[0] === 's' || entry[0] === 'x',
  )
  return { actor, entries: upTo, over }
}

function describeAnswer({ text = '', tool_calls = [] }: Partial<ModelAnswer> = {}): string {
  return tool_calls.map(({ name }) => name).join(', ') || text
}
