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
import { type Earlier, RecordedContext } from './recorded-context.ts'

/** Shorter values stand where they are used, in characters. */
const LONG = 512
/** Shorter values that never change get a name too: they are asked for in each cycle. */
const WORTH_A_NAME = 96
/** Answers of models are hardly ever given twice: to look whether one was costs more than to write one of usual length. */
const LONG_ANSWER = 8_000
const SELECT = /^\s*SELECT/i
/** Number of values remembered as written; older ones are written again. */
const KNOWN = 500
/** Entries become texts when they are so long together, in characters. */
const TOGETHER = 500_000
/** A text ends where it is so long, in characters. */
const TEXT = 80_000
/** So much what becomes a text only then is taken for. */
const LATE_LENGTH = 500

/** JSON of a list without its brackets, with one more: an array of numbers takes longer to become a text than to be gathered. */
function appendToList(json: string, more: number): string {
  return json ? `${json},${more}` : `${more}`
}

function sha1(text: string): string {
  return hash('sha1', text, 'base64')
}

/**
 * An entry, or a value in one, that is serialized together with the others: alone, in the middle of a cycle, it costs
 * ten times as much.
 * @param before entries that must be written before it
 */
export type Late = (before: string[]) => string

/**
 * Records what happens in one process until it is handed to the writer. It runs in every cycle: values that are small,
 * or that others may
 * change, are serialized at once, all else later.
 */
export class Recorder implements RecordingBackend {
  readonly pretends = false
  readonly repeats = false
  readonly digester: Digester
  /** Cycles that have begun, and answers of models. */
  readonly counts = { cycles: 0, steps: 0 }
  /** Entries of what is to be written next, several in each text, and the newest by themselves. */
  #texts: string[] = []
  #lines: (string | Late)[] = []
  #length = 0
  /** What happened in direct succession and is not recorded yet, as JSON, and the context of the last entry. */
  #turns = ''
  #turning: number | undefined
  readonly #named = new Map<string, number>()
  readonly #selects = new Set<number>()
  /** Their numbers, by their digests or, where they are short, themselves. */
  readonly #long = new Map<string, number>()
  /** The same for values that are serialized later. */
  readonly #longLate = new Map<string, number>()
  /** Serialized values that never change again. */
  readonly #packed = new WeakMap<object, string>()
  readonly #acting = new Set<RecordedContext>()
  #actors = 0
  #names = 0
  #values = 0
  /** Set once nothing more is wanted. */
  #over = false

  /** @param mask takes the values of secrets out of a text */
  constructor(mask: (text: string) => string) {
    this.digester = new Digester(mask)
  }

  begin(right: ExecutionIdentity, end: CycleEnd): RecordingContext | undefined {
    if (this.#over) return undefined
    const { id: agent, kind, owner, epoch, cycle_num } = right
    const id = this.#actors++
    const cycle = [id, agent, kind, owner, epoch, cycle_num] as const
    this.add(right.kind === 'task' ? ['b', ...cycle, right.task_id] : ['b', ...cycle])
    // While it waited for the previous cycle, another process may have taken it over.
    if (end.signal.aborted) this.add(['a', id, recordOf(end.signal.reason)])
    return this.openContext(id, end)
  }

  /** Opens the context of a new or a continued cycle. */
  openContext(id: number, end: CycleEnd, earlier?: Earlier): RecordedContext {
    const actor = new RecordedContext(this, id, earlier)
    this.#acting.add(actor)
    end.onAbort = reason => {
      if (actor.over) return
      this.readBefore(actor)
      this.add(['a', id, recordOf(reason)])
    }
    return actor
  }

  /** Continues a recording that was made before. */
  resume(entries: readonly Entry[]): void {
    for (const entry of entries) {
      this.add(entry)
      if (entry[0] === 'b') this.#actors = Math.max(this.#actors, entry[1] + 1)
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

  wrote(statements: readonly WrittenStatement[]): void {
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

  /** Adds an entry, as its JSON or as what makes it later. */
  line(entry: string | Late): void {
    if (this.#over) return
    this.#flushTurns()
    this.#push(entry)
  }

  /** An actor wrote, or failed to do what it wanted with the database. */
  turn(actor: number, name: number, failure?: ErrorRecord): void {
    if (this.#over) return
    this.#readBefore()
    if (failure) this.add(['t', actor, name, failure])
    else this.#next(actor, 3 * name)
  }

  /** An actor was given nothing. */
  nothing(actor: number, name: number): void {
    if (!this.#over) this.#next(actor, 3 * name + 1)
  }

  /** What everybody has read until now, which is about to change. */
  #readBefore(): void {
    for (const actor of this.#acting) this.readBefore(actor)
  }

  /** What an actor has read until now, when something comes to it from outside. */
  readBefore(actor: RecordedContext): void {
    const reads = actor.readsSince()
    if (reads > 0 && !this.#over) this.#next(actor.id, 3 * reads + 2)
  }

  #next(actor: number, what: number): void {
    if (this.#turning !== actor) {
      this.#turns = appendToList(this.#turns, ~actor)
      this.#turning = actor
    }
    this.#turns = appendToList(this.#turns, what)
  }

  #flushTurns(): void {
    if (this.#turning === undefined) return
    this.#push(`["p",[${this.#turns}]]`)
    this.#turns = ''
    this.#turning = undefined
  }

  #push(entry: string | Late): void {
    this.#lines.push(entry)
    this.#length += typeof entry === 'string' ? entry.length : LATE_LENGTH
    if (this.#length > TOGETHER) this.#join()
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

  closeContext(actor: RecordedContext): void {
    this.#acting.delete(actor)
  }

  /** All entries since the last time, as JSON with commas between them: texts, each of some entries. */
  take(): string[] {
    this.#flushTurns()
    for (const actor of this.#acting) actor.writeReadValues()
    this.#join()
    const texts = this.#texts
    this.#texts = []
    return texts
  }

  /** What still runs goes on without a context: on the next recording its writes are those of another process. */
  stop(): void {
    this.#over = true
    for (const actor of this.#acting) actor.over = true
    this.#acting.clear()
  }

  /** The number of a text that comes again and again. */
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
  value(value: unknown): string | Late {
    if (value === undefined) return 'null'
    if (typeof value === 'string') return this.#later(value, LONG)
    const object = typeof value === 'object' && value !== null ? value : undefined
    const known = object && this.#packed.get(object)
    if (known !== undefined) return known
    // Only what is fixed is known to be the same again without being looked at.
    const isFixed = object !== undefined && Object.isFrozen(object)
    const json = JSON.stringify(value) ?? 'null'
    const packed = json.length < (isFixed ? WORTH_A_NAME : LONG) ? `{"$j":${json}}` : this.#longOne(json)
    if (isFixed) this.#packed.set(object, packed)
    return packed
  }

  /** Returns a model's answer in its recorded form. It never changes, and hardly ever repeats. */
  answer(value: unknown): string | Late {
    return Object.isFrozen(value) ? this.#later(value, LONG_ANSWER) : this.value(value)
  }

  /** @param long what is as long stands apart, in characters */
  #later(value: unknown, long: number): Late {
    return before => {
      const json = JSON.stringify(value)
      return json.length < long ? `{"$j":${json}}` : this.#longOne(json, before)
    }
  }

  #param(param: unknown, before: string[]): string {
    if (typeof param === 'string') {
      return param.length < LONG ? JSON.stringify(param) : this.#longOne(param, before)
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
  #longOne(text: string, before?: string[]): string {
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
