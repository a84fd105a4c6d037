import { hash } from 'node:crypto'
import type {
  CycleEnd,
  ExecutionIdentity,
  RecordingBackend,
  RecordingContext,
  WrittenStatement,
} from '#lib/recording-context'
import { Digester } from './digest.ts'
import { type Entry, type ErrorRecord, MODEL, recordOf } from './entries.ts'
import { type ContextState, RecordedContext } from './recorded-context.ts'

/** Length below which a value is written inline instead of by reference, in characters. */
const LONG = 512
/** The same for immutable values, which are read in every cycle. */
const LONG_FIXED = 96
/** The same for model answers. They rarely repeat, so looking one up costs more than writing it. */
const LONG_ANSWER = 8_000
const SELECT = /^\s*SELECT/i
/** Number of values remembered as written; older ones are written again. */
const KNOWN = 500
/** Total length at which pending entries are joined to a string, in characters. */
const JOINED_CHARACTERS = 500_000
/** Maximum length of such a string, in characters. */
const TEXT = 80_000
/** Estimated length of an entry that is serialized later, in characters. */
const LATE_LENGTH = 500

/** Appends a number to a JSON list without brackets, which is faster than serializing an array. */
function appendToList(json: string, more: number): string {
  return json ? `${json},${more}` : `${more}`
}

function sha1(text: string): string {
  return hash('sha1', text, 'base64')
}

/**
 * An entry, or a value in one, that is serialized later with others: in the middle of a cycle it would cost ten times as
 * much.
 * @param before entries that must be written before it
 */
export type DeferredEntry = (before: string[]) => string

/**
 * Records what happens in one process until it is handed to the writer. It runs in every cycle.
 * Small or mutable values are serialized at once, all others later.
 */
export class Recorder implements RecordingBackend {
  readonly isReplaying = false
  readonly isReplayProject = false
  readonly digester: Digester
  /** Numbers of started cycles and of model answers. */
  readonly counts = { cycles: 0, steps: 0 }
  /** Pending entries: joined strings, and the newest ones separately. */
  #texts: string[] = []
  #lines: (string | DeferredEntry)[] = []
  #length = 0
  /** Consecutive entries that are not recorded yet, as JSON, and the context of the last entry. */
  #pending = ''
  #lastContext: number | undefined
  readonly #named = new Map<string, number>()
  readonly #selects = new Set<number>()
  /** Reference numbers of values, by digest, or by the value itself if it is short. */
  readonly #long = new Map<string, number>()
  /** The same for values that are serialized later. */
  readonly #longLate = new Map<string, number>()
  /** Serialized values that never change again. */
  readonly #packed = new WeakMap<object, string>()
  readonly #open = new Set<RecordedContext>()
  #contexts = 0
  #names = 0
  #values = 0
  /** Whether recording has ended. */
  #over = false

  /** @param mask removes the values of secrets from a string */
  constructor(mask: (text: string) => string) {
    this.digester = new Digester(mask)
  }

  begin(identity: ExecutionIdentity, end: CycleEnd): RecordingContext | undefined {
    if (this.#over) return undefined
    const { id: agent, kind, owner, epoch, cycle_num } = identity
    const id = this.#contexts++
    const cycle = [id, agent, kind, owner, epoch, cycle_num] as const
    this.add(identity.kind === 'task' ? ['b', ...cycle, identity.task_id] : ['b', ...cycle])
    // While it waited for the previous cycle, another process may have taken the agent over.
    if (end.signal.aborted) this.add(['a', id, recordOf(end.signal.reason)])
    return this.openContext(id, end)
  }

  /** Opens the context of a new or a continued cycle. */
  openContext(id: number, end: CycleEnd, earlier?: ContextState): RecordedContext {
    const context = new RecordedContext(this, id, earlier)
    this.#open.add(context)
    end.onAbort = reason => {
      if (context.over) return
      this.readBefore(context)
      this.add(['a', id, recordOf(reason)])
    }
    return context
  }

  /** Continues a recording that was made before. */
  resume(entries: readonly Entry[]): void {
    for (const entry of entries) {
      this.add(entry)
      if (entry[0] === 'b') this.#contexts = Math.max(this.#contexts, entry[1] + 1)
      else if (entry[0] === 'x') this.#values = Math.max(this.#values, entry[1] + 1)
      else if (entry[0] === 's') {
        this.#named.set(entry[2], entry[1])
        this.#names = Math.max(this.#names, entry[1] + 1)
        if (SELECT.test(entry[2])) this.#selects.add(entry[1])
      }
    }
    const model = this.name(MODEL)
    this.counts.steps += entries.filter(entry => entry[0] === 'v' && entry[2] === model).length
  }

  recordWrites(statements: readonly WrittenStatement[]): void {
    if (this.#over) return
    const changing = statements.filter(({ sql }) => !this.#selects.has(this.name(sql)))
    if (changing.length === 0) return
    this.#readBefore()
    this.line(before => {
      const written = changing.map(({ sql, params }) =>
        [this.name(sql), ...params.map(param => this.#param(param, before))].join(),
      )
      return `["o",[[${written.join('],[')}]]]`
    })
  }

  add(entry: Entry): void {
    if (entry[0] === 'b' && entry[3] !== 'task') this.counts.cycles++
    this.line(() => JSON.stringify(entry))
  }

  /** Adds an entry: its JSON, or a function that returns it later. */
  line(entry: string | DeferredEntry): void {
    if (this.#over) return
    this.#flushTurns()
    this.#push(entry)
  }

  /** Records a write of a context, or a failed one. */
  turn(context: number, name: number, failure?: ErrorRecord): void {
    if (this.#over) return
    this.#readBefore()
    if (failure) this.add(['t', context, name, failure])
    else this.#next(context, 3 * name)
  }

  /** Records that a context got no result. */
  recordNoResult(context: number, name: number): void {
    if (!this.#over) this.#next(context, 3 * name + 1)
  }

  /** Records the number of reads of all contexts so far, before their data change. */
  #readBefore(): void {
    for (const context of this.#open) this.readBefore(context)
  }

  /** Records the number of reads of a context so far, before an input from outside. */
  readBefore(context: RecordedContext): void {
    const reads = context.readsSince()
    if (reads > 0 && !this.#over) this.#next(context.id, 3 * reads + 2)
  }

  #next(context: number, what: number): void {
    if (this.#lastContext !== context) {
      this.#pending = appendToList(this.#pending, ~context)
      this.#lastContext = context
    }
    this.#pending = appendToList(this.#pending, what)
  }

  #flushTurns(): void {
    if (this.#lastContext === undefined) return
    this.#push(`["p",[${this.#pending}]]`)
    this.#pending = ''
    this.#lastContext = undefined
  }

  #push(entry: string | DeferredEntry): void {
    this.#lines.push(entry)
    this.#length += typeof entry === 'string' ? entry.length : LATE_LENGTH
    if (this.#length > JOINED_CHARACTERS) this.#join()
  }

  #join(): void {
    let lines: string[] = []
    let length = 0
    const end = () => {
      if (lines.length > 0) this.#texts.push(lines.join())
      lines = []
      length = 0
    }
    for (const line of this.#lines) {
      const text = typeof line === 'string' ? line : line(lines)
      lines.push(text)
      length += text.length
      if (length > TEXT) end()
    }
    end()
    this.#lines = []
    this.#length = 0
  }

  closeContext(context: RecordedContext): void {
    this.#open.delete(context)
  }

  /** Returns all entries since the last call, as strings of comma-separated JSON. */
  take(): string[] {
    this.#flushTurns()
    for (const context of this.#open) context.writeReadValues()
    this.#join()
    const texts = this.#texts
    this.#texts = []
    return texts
  }

  /** Detaches running cycles. In the next recording their writes count as those of another process. */
  stop(): void {
    this.#over = true
    for (const context of this.#open) context.over = true
    this.#open.clear()
  }

  /** Returns the reference number of a repeated string. */
  name(text: string): number {
    let name = this.#named.get(text)
    if (name === undefined) {
      name = this.#names++
      this.#named.set(text, name)
      if (SELECT.test(text)) this.#selects.add(name)
      this.line(`["s",${name},${JSON.stringify(text)}]`)
    }
    return name
  }

  /** Returns a value in its recorded form, serialized now: the caller may change it later. */
  value(value: unknown): string | DeferredEntry {
    if (value === undefined) return 'null'
    if (typeof value === 'string') return this.#later(value, LONG)
    const object = typeof value === 'object' && value !== null ? value : undefined
    const known = object && this.#packed.get(object)
    if (known !== undefined) return known
    // Only immutable values can be reused without comparing them.
    const isFixed = object !== undefined && Object.isFrozen(object)
    const json = JSON.stringify(value) ?? 'null'
    const packed = json.length < (isFixed ? LONG_FIXED : LONG) ? `{"$j":${json}}` : this.#referenceTo(json)
    if (isFixed) this.#packed.set(object, packed)
    return packed
  }

  /** Returns a model's answer in its recorded form. It never changes, and hardly ever repeats. */
  answer(value: unknown): string | DeferredEntry {
    return Object.isFrozen(value) ? this.#later(value, LONG_ANSWER) : this.value(value)
  }

  /** @param long length from which a value is written by reference, in characters */
  #later(value: unknown, long: number): DeferredEntry {
    return before => {
      const json = JSON.stringify(value)
      return json.length < long ? `{"$j":${json}}` : this.#referenceTo(json, before)
    }
  }

  #param(param: unknown, before: string[]): string {
    if (typeof param === 'string') {
      return param.length < LONG ? JSON.stringify(param) : this.#referenceTo(param, before)
    }
    if (param === undefined || param === null) return 'null'
    if (typeof param === 'number') return Number.isFinite(param) ? String(param) : 'null'
    if (typeof param === 'boolean') return String(Number(param))
    if (typeof param === 'bigint') return `{"$n":"${param}"}`
    return `{"$b":"${Buffer.from(param as Uint8Array).toString('base64')}"}`
  }

  /**
   * @param before where its definition is written, unless it was written earlier; values that are serialized later have
   * their own numbers
   */
  #referenceTo(text: string, before?: string[]): string {
    const numbers = before ? this.#longLate : this.#long
    const key = text.length < LONG ? text : sha1(text)
    let known = numbers.get(key)
    if (known === undefined) {
      known = this.#values++
      if (numbers.size >= KNOWN) numbers.clear()
      numbers.set(key, known)
      const entry = `["x",${known},${JSON.stringify(text)}]`
      if (before) before.push(entry)
      else this.line(entry)
    }
    return `{"$x":${known}}`
  }
}
