import type { ModelAnswer } from '#core/models/contract'
import type { RecordedStep } from '../contract.ts'
import { CONTRIBUTED, type Entry, type ErrorRecord, MODEL, type PackedValue } from '../recording/entries.ts'
import { ReadCounts } from './read-counts.ts'

/** An entry with a place in the order of the recording; all others are definitions and values. */
export type OrderedEntry = Extract<Entry, ['b' | 'e' | 't' | 'n' | 'v' | 'f' | 'a' | 'o' | 'c' | 'u', ...unknown[]]>

/** Nondeterministic values that a context read, in order. */
export interface ReadValues {
  ms: number[]
  monotonic: number[]
  ids: string[]
}

/** A parsed recording: its entries in order, and the strings and values that they name by number. */
export class ParsedRecording {
  readonly sequence: OrderedEntry[] = []
  /** Entries that define the numbers of strings and long values. */
  readonly names: readonly Entry[]
  readonly #texts = new Map<number, string>()
  readonly #long = new Map<number, string>()
  readonly #readValues = new Map<number, ReadValues>()
  readonly #owners = new Map<number, { agent_id: string; cycle_num: number }>()
  readonly #reads = new ReadCounts()
  readonly #inputs = new Set<string>()

  /** @param process ids of the recording process and of this one, which occur in some statements */
  constructor(entries: readonly Entry[], process: { was: number; is: number }) {
    const last = new Map<number, { ms: number; micros: number }>()
    const ours = (text: string) => text.replaceAll(`pid = ${process.was} `, `pid = ${process.is} `)
    for (const entry of entries) {
      if (entry[0] === 's') this.#texts.set(entry[1], ours(entry[2]))
      else if (entry[0] === 'x') this.#long.set(entry[1], entry[2])
      else if (entry[0] === 'd') {
        const [, context, ms, micros, ids] = entry
        const at = last.get(context) ?? { ms: 0, micros: 0 }
        const values = this.valuesOf(context)
        for (const step of ms) {
          at.ms += step
          values.ms.push(at.ms)
        }
        for (const step of micros) {
          at.micros += step
          values.monotonic.push(at.micros / 1000)
        }
        values.ids.push(...ids)
        last.set(context, at)
      } else if (entry[0] === 'p') {
        let context = 0
        for (const each of entry[1]) {
          const [part, kind] = [Math.floor(each / 3), each % 3]
          if (each < 0) context = ~each
          else if (kind === 0) this.#append(['t', context, part])
          else this.#append(kind === 1 ? ['v', context, part, 0, null] : ['n', context, part])
        }
      } else this.#append(entry)
    }
    this.names = entries.filter(([kind]) => kind === 's' || kind === 'x')
  }

  /** Adds an entry to the order. */
  #append(entry: OrderedEntry): void {
    const reads = this.#reads
    if (entry[0] === 'b') {
      this.#owners.set(entry[1], { agent_id: entry[2], cycle_num: entry[6] })
      reads.begin(entry[1])
    } else if (entry[0] === 'e') reads.end(entry[1])
    else if (entry[0] === 'n') reads.addReads(entry[1], entry[2])
    else if (entry[0] === 'v') this.#inputs.add(`${entry[1]} ${this.text(entry[2])}`)
    else if (entry[0] === 't' || entry[0] === 'o') reads.write(this.sequence.length)
    this.sequence.push(entry)
  }

  text(name: number): string {
    return this.#texts.get(name) ?? ''
  }

  valuesOf(context: number): ReadValues {
    let values = this.#readValues.get(context)
    if (!values) {
      values = { ms: [], monotonic: [], ids: [] }
      this.#readValues.set(context, values)
    }
    return values
  }

  /** Returns the entry with the values that a context has used so far; undefined if there are none. */
  readValuesEntry(context: number, used: Record<keyof ReadValues, number>): Entry | undefined {
    const { ms, monotonic, ids } = this.valuesOf(context)
    if (used.ms + used.monotonic + used.ids === 0) return undefined
    const micros = monotonic.slice(0, used.monotonic).map(each => Math.round(each * 1000))
    return ['d', context, stepsOf(ms.slice(0, used.ms)), stepsOf(micros), ids.slice(0, used.ids)]
  }

  /** Returns the number of reads of a context before the next write of any context, from `here` on. */
  readsBefore(context: number, here: number): number {
    return this.#reads.countBefore(context, here)
  }

  /** Returns whether a context computes an input itself: that of a plugin contribution added since the recording. */
  isRecomputed(context: number, what: string): boolean {
    return CONTRIBUTED.test(what) && !this.#inputs.has(`${context} ${what}`)
  }

  ownerOf(context: number): { agent_id: string; cycle_num: number } | undefined {
    return this.#owners.get(context)
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
    entry: OrderedEntry | undefined,
  ): entry is ['v', number, number, number, PackedValue, (ErrorRecord | null)?, number?] {
    return entry?.[0] === 'v' && this.text(entry[2]) === MODEL
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
  const recording = new ParsedRecording(entries, { was: 0, is: 0 })
  const steps: RecordedStep[] = []
  let step = 0
  for (const entry of recording.sequence) {
    if (!recording.isStep(entry)) continue
    step++
    const [, context, , , value, failure] = entry
    if (of !== undefined && context !== of) continue
    const { agent_id = '', cycle_num = 0 } = recording.ownerOf(context) ?? {}
    const says = failure ? failure.message : describeAnswer(recording.value(value) as Partial<ModelAnswer> | undefined)
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
  context: number
  /** The recording up to the end of the task. */
  entries: Entry[]
  over: boolean
}

/** Finds a task in the recording of its process; undefined if the recording ends before the task. */
export function taskIn(entries: readonly Entry[], run_id: string): RecordedTask | undefined {
  const recording = new ParsedRecording(entries, { was: 0, is: 0 })
  const began = recording.sequence.find(
    each => each[0] === 'v' && recording.text(each[2]) === 'run' && recording.value(each[4]) === run_id,
  )
  if (began === undefined) return undefined
  const context = began[1] as number
  const end = entries.findIndex(entry => entry[0] === 'e' && entry[1] === context)
  const over = end >= 0
  // Nondeterministic values are recorded after the entries that they belong to.
  const upTo = entries.filter(
    (entry, n) => !over || n <= end || entry[0] === 'd' || entry[0] === 's' || entry[0] === 'x',
  )
  return { context, entries: upTo, over }
}

function describeAnswer({ text = '', tool_calls = [] }: Partial<ModelAnswer> = {}): string {
  return tool_calls.map(({ name }) => name).join(', ') || text
}
