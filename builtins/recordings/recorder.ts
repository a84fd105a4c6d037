import { hash } from 'node:crypto'
import { type Actor, type Asked, type CycleEnd, type Draw, type Noted, outside, type Right, type Tape } from '#kernel'
import { Digester } from './digest.ts'
import { type Entry, type ErrorRecord, recordOf } from './entries.ts'

/** Shorter values stand where they are used, in characters. */
const LONG = 512
/** So do shorter ones that nobody changes, which are asked for in each cycle. */
const WORTH_A_NAME = 96
const SELECT = /^\s*SELECT/i
/** So many values are known to be written already; older ones are written again. */
const KNOWN = 500
/** What `taken` calls the answers of models. */
const MODEL = 'model'
/** They are hardly ever given twice: to look whether they were costs more than to write one of usual length. */
const LONG_ANSWER = 8_000
/** Entries become one text when they are so long together, in characters: many small ones would outlive the cycles they tell of. */
const TOGETHER = 8_000

/** JSON of a list without its brackets, with one more: an array of numbers takes longer to become a text than to be gathered. */
function listed(json: string, more: number | string): string {
  return json ? `${json},${more}` : `${more}`
}

function sha1(text: string): string {
  return hash('sha1', text, 'base64')
}

/**
 * What is recorded in one process from one moment on, until it is handed to whoever writes it down. It is made in the path of
 * every cycle, so each entry becomes its text at once: building it first and writing it later would cost twice as much.
 */
export class TapeRecorder implements Tape {
  readonly pretends = false
  readonly repeats = false
  readonly digester: Digester
  /** Cycles that have begun, and answers of models. */
  readonly counts = { cycles: 0, steps: 0 }
  /** Entries of what is to be written next, several in each text, and the newest by themselves. */
  #texts: string[] = []
  #lines: string[] = []
  #length = 0
  /** What happened right after one another and is not told yet, as JSON, and whose the last was. */
  #turns = ''
  #turning: number | undefined
  readonly #named = new Map<string, number>()
  readonly #selects = new Set<number>()
  /** Their numbers, by their digests or, where they are short, themselves. */
  readonly #long = new Map<string, number>()
  /** Values that nobody changes any more, as they stand on the tape. */
  readonly #packed = new WeakMap<object, string>()
  readonly #acting = new Set<RecordedActor>()
  #actors = 0
  #names = 0
  #values = 0
  /** Set once nothing more is wanted. */
  #over = false

  /** @param mask takes the values of secrets out of a text */
  constructor(mask: (text: string) => string) {
    this.digester = new Digester(mask)
  }

  begin(right: Right, end: CycleEnd): Actor | undefined {
    if (this.#over) return undefined
    const { id: agent, kind, owner, epoch, cycle_num } = right
    const id = this.#actors++
    const cycle = [id, agent, kind, owner, epoch, cycle_num] as const
    this.add(right.kind === 'task' ? ['b', ...cycle, right.task_id] : ['b', ...cycle])
    // While it waited for the cycle before it, somebody may have taken it over.
    if (end.signal.aborted) this.add(['a', id, recordOf(end.signal.reason)])
    return this.actor(id, end)
  }

  /** One who begins, or goes on where another tape ended. */
  actor(id: number, end: CycleEnd, earlier?: Earlier): RecordedActor {
    const actor = new RecordedActor(this, id, earlier)
    this.#acting.add(actor)
    end.told = reason => {
      if (actor.over) return
      this.readBefore(actor)
      this.add(['a', id, recordOf(reason)])
    }
    return actor
  }

  /** Goes on from a tape that was made before. */
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

  wrote(statements: readonly Noted[]): void {
    if (this.#over) return
    let written = ''
    for (const { sql, params } of statements) {
      const name = this.name(sql)
      if (this.#selects.has(name)) continue
      written += written ? `,[${name}` : `[${name}`
      for (const param of params) written += `,${this.#param(param)}`
      written += ']'
    }
    if (!written) return
    this.#readBefore()
    this.line(`["o",[${written}]]`)
  }

  add(entry: Entry): void {
    if (entry[0] === 'b' && entry[3] !== 'task') this.counts.cycles++
    this.line(JSON.stringify(entry))
  }

  /** Adds an entry as its JSON. */
  line(json: string): void {
    if (this.#over) return
    this.#turned()
    this.#push(json)
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
  readBefore(actor: RecordedActor): void {
    const reads = actor.readsSince()
    if (reads > 0 && !this.#over) this.#next(actor.id, 3 * reads + 2)
  }

  #next(actor: number, what: number): void {
    if (this.#turning !== actor) {
      this.#turns = listed(this.#turns, ~actor)
      this.#turning = actor
    }
    this.#turns = listed(this.#turns, what)
  }

  #turned(): void {
    if (this.#turning === undefined) return
    this.#push(`["p",[${this.#turns}]]`)
    this.#turns = ''
    this.#turning = undefined
  }

  #push(json: string): void {
    this.#lines.push(json)
    this.#length += json.length
    if (this.#length > TOGETHER) this.#join()
  }

  #join(): void {
    if (this.#lines.length > 0) this.#texts.push(this.#lines.join())
    this.#lines = []
    this.#length = 0
  }

  ended(actor: RecordedActor): void {
    this.#acting.delete(actor)
  }

  /** All entries since the last time, as JSON with commas between them: texts, each of some entries. */
  take(): string[] {
    this.#turned()
    for (const actor of this.#acting) actor.tellDrawn()
    this.#join()
    const texts = this.#texts
    this.#texts = []
    return texts
  }

  stop(): void {
    this.#over = true
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

  /** A value as it stands on the tape, now: whoever gets it may change it. @param long what is as long stands apart, in characters */
  value(value: unknown, long = LONG): string {
    if (value === undefined) return 'null'
    const object = typeof value === 'object' && value !== null ? value : undefined
    const known = object && this.#packed.get(object)
    if (known !== undefined) return known
    const json = JSON.stringify(value) ?? 'null'
    // Only what is fixed is known to be the same again without being looked at.
    const isFixed = object !== undefined && Object.isFrozen(object)
    const packed = json.length < (isFixed ? WORTH_A_NAME : long) ? `{"$j":${json}}` : this.#longOne(json)
    if (isFixed) this.#packed.set(object, packed)
    return packed
  }

  #param(param: unknown): string {
    if (typeof param === 'string') return param.length < LONG ? JSON.stringify(param) : this.#longOne(param)
    if (param === undefined || param === null) return 'null'
    if (typeof param === 'number') return Number.isFinite(param) ? String(param) : 'null'
    if (typeof param === 'boolean') return String(Number(param))
    if (typeof param === 'bigint') return `{"$n":"${param}"}`
    return `{"$b":"${Buffer.from(param as Uint8Array).toString('base64')}"}`
  }

  #longOne(text: string): string {
    const key = text.length < LONG ? text : sha1(text)
    let known = this.#long.get(key)
    if (known === undefined) {
      known = this.#values++
      if (this.#long.size >= KNOWN) this.#long.clear()
      this.#long.set(key, known)
      this.line(`["x",${known},${JSON.stringify(text)}]`)
    }
    return `{"$x":${known}}`
  }
}

/** Where an actor stands that goes on: the clocks as it drew them last, and its reads that are not told yet. */
export interface Earlier {
  ms: number
  monotonic: number
  reads: number
}

/** What an actor has asked for. */
interface Taking {
  what: string
  name: number
  digest: number
}

/** A cycle that is being recorded. */
export class RecordedActor implements Actor {
  over = false
  readonly id: number
  readonly #tape: TapeRecorder
  /** What it drew and the tape was not told yet, as JSON without brackets. */
  #ms = ''
  #micros = ''
  #ids = ''
  #lastMs = 0
  #lastMicros = 0
  #timers = 0
  #reads: number
  /** What it has asked for and not been given yet. */
  readonly #waiting: Taking[] = []

  constructor(tape: TapeRecorder, id: number, { ms, monotonic, reads }: Earlier = { ms: 0, monotonic: 0, reads: 0 }) {
    this.#tape = tape
    this.id = id
    this.#lastMs = ms
    this.#lastMicros = Math.round(monotonic * 1000)
    this.#reads = reads
  }

  draw<T extends number | string>(kind: Draw, real: () => T): T {
    const drawn = real()
    if (kind === 'id') {
      this.#ids = listed(this.#ids, JSON.stringify(drawn))
      return drawn
    }
    if (kind === 'ms') {
      this.#ms = listed(this.#ms, (drawn as number) - this.#lastMs)
      this.#lastMs = drawn as number
      return drawn
    }
    // As fine as it is written down, so that it is the same again.
    const micros = Math.round((drawn as number) * 1000)
    this.#micros = listed(this.#micros, micros - this.#lastMicros)
    this.#lastMicros = micros
    return (micros / 1000) as T
  }

  take<T>(what: string, work: () => T | Promise<T>, asked?: () => Asked): T | Promise<T> {
    const tape = this.#tape
    const taking = { what, name: tape.name(what), digest: asked ? tape.digester.of(asked()) : 0 }
    let done: T | Promise<T>
    try {
      done = outside(work)
    } catch (error) {
      throw this.#failed(taking, this.#earlier(taking), error)
    }
    if (!(done instanceof Promise)) return this.#given(taking, this.#earlier(taking), done)
    this.#waiting.push(taking)
    return done.then(
      value => this.#given(taking, this.#waited(taking), value),
      error => {
        throw this.#failed(taking, this.#waited(taking), error)
      },
    )
  }

  /** How many of the same name it asked for earlier and still waits for. */
  #earlier({ name }: Taking, upTo = this.#waiting.length): number {
    let earlier = 0
    for (let at = 0; at < upTo; at++) if (this.#waiting[at]!.name === name) earlier++
    return earlier
  }

  /** It waits no longer. @returns how many of the same name it asked for earlier and still waits for */
  #waited(taking: Taking): number {
    const at = this.#waiting.indexOf(taking)
    const earlier = this.#earlier(taking, at)
    this.#waiting.splice(at, 1)
    return earlier
  }

  #given<T>(taking: Taking, earlier: number, value: T): T {
    const long = taking.what === MODEL ? LONG_ANSWER : LONG
    this.#tell(taking, earlier, this.#tape.value(value, long), '')
    return value
  }

  #failed(taking: Taking, earlier: number, error: unknown): unknown {
    this.#tell(taking, earlier, 'null', JSON.stringify(recordOf(error)))
    return error
  }

  #tell({ what, name, digest }: Taking, earlier: number, value: string, failure: string): void {
    if (what === MODEL) this.#tape.counts.steps++
    if (value === 'null' && !digest && !failure && earlier === 0) {
      this.#tape.nothing(this.id, name)
      return
    }
    const tail = earlier > 0 ? `,${failure || 'null'},${earlier}` : failure && `,${failure}`
    this.#comes(`["v",${this.id},${name},${digest},${value}${tail}]`)
  }

  /** Something from outside, as JSON. */
  #comes(json: string): void {
    this.#tape.readBefore(this)
    this.#tape.line(json)
  }

  turn<T>(what: string, work: () => T): T {
    try {
      const done = work()
      this.#tape.turn(this.id, this.#tape.name(what))
      return done
    } catch (error) {
      throw this.#fails(what, error)
    }
  }

  read<T>(what: string, work: () => T): T {
    try {
      const done = work()
      this.#reads++
      return done
    } catch (error) {
      throw this.#fails(what, error)
    }
  }

  /** How many reads it has had since it was last asked. */
  readsSince(): number {
    const reads = this.#reads
    this.#reads = 0
    return reads
  }

  #fails(what: string, error: unknown): unknown {
    const record = recordOf(error)
    // A lock that somebody holds: it is tried again.
    if (!/^SQLITE_(BUSY|LOCKED)/.test(String(record.code))) this.#tape.turn(this.id, this.#tape.name(what), record)
    return error
  }

  timer(fn: () => void): () => void {
    const n = this.#timers++
    return () => {
      if (!this.over) this.#comes(`["f",${this.id},${n}]`)
      fn()
    }
  }

  aside<T>(_: string, work: () => T | Promise<T>): T | Promise<T> {
    return outside(work)
  }

  end(): void {
    this.over = true
    this.#tape.ended(this)
    this.tellDrawn()
    this.#tape.line(`["e",${this.id}]`)
  }

  /** Tells the tape what was drawn since the last time. */
  tellDrawn(): void {
    if (!this.#ms && !this.#micros && !this.#ids) return
    this.#tape.line(`["d",${this.id},[${this.#ms}],[${this.#micros}],[${this.#ids}]]`)
    this.#ms = ''
    this.#micros = ''
    this.#ids = ''
  }
}
