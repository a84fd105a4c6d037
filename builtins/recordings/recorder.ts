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
/** So much that happened, of some ten cycles, becomes a text in one go. */
const AT_ONCE = 256
/** Entries become one text when they are so long together, in characters: many small ones would outlive the cycles they tell of. */
const TOGETHER = 8_000

function sha1(text: string): string {
  return hash('sha1', text, 'base64')
}

/**
 * What is recorded in one process from one moment on, until it is handed to whoever writes it down. It is made in the path of
 * every cycle: there what may still change is taken down, and nothing else. A text is made of it with that of some cycles more,
 * when the processor has at hand what this takes; each by itself it costs several times as much.
 */
export class TapeRecorder implements Tape {
  readonly pretends = false
  readonly digester: Digester
  /** Cycles that have begun, and answers of models. */
  readonly counts = { cycles: 0, steps: 0 }
  /** What happened and is no text yet, in its order: each tells itself, of what nobody changes any more. */
  #happened: (() => void)[] = []
  /** Entries of what is to be written next, several in each text, and the newest by themselves. */
  #texts: string[] = []
  #lines: string[] = []
  #length = 0
  /** What happened right after one another and is no entry yet, and whose the last was. */
  #turns: number[] = []
  #turning: number | undefined
  readonly #named = new Map<string, number>()
  /** Their numbers, by their digests or, where they are short, themselves. */
  readonly #long = new Map<string, number>()
  /** Values that nobody changes any more, as they stand on the tape. */
  readonly #known = new WeakMap<object, string>()
  readonly #acting = new Set<RecordedActor>()
  #actors = 0
  #names = 0
  #values = 0
  /** Set once nothing more is wanted. */
  #over = false
  /** Why there is no text of what happened. */
  #failure: { error: unknown } | undefined

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
    return this.actor(id, end)
  }

  /** One who begins, or goes on where another tape ended. */
  actor(id: number, end: CycleEnd, earlier?: Earlier): RecordedActor {
    const actor = new RecordedActor(this, id, earlier)
    this.#acting.add(actor)
    end.told = reason => {
      if (actor.over) return
      this.#read(actor)
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
      }
    }
    this.#tellAll()
    const model = this.name(MODEL)
    this.counts.steps += entries.filter(entry => entry[0] === 'v' && entry[2] === model).length
  }

  wrote(statements: readonly Noted[]): void {
    const written = statements.filter(({ sql }) => !SELECT.test(sql))
    if (this.#over || written.length === 0) return
    this.#allRead()
    this.#later(() => {
      const told = written.map(({ sql, params }) => [this.name(sql), ...params.map(param => this.#param(param))])
      this.#line(`["o",[${told.map(each => `[${each}]`)}]]`)
    })
  }

  add(entry: Entry): void {
    this.#later(() => {
      if (entry[0] === 'b' && entry[3] !== 'task') this.counts.cycles++
      this.#line(JSON.stringify(entry))
    })
  }

  /** Something happened now. @param tell makes it a text or entries, later */
  #later(tell: () => void): void {
    if (!this.#over && this.#happened.push(tell) === AT_ONCE) this.#tellAll()
  }

  #tellAll(): void {
    const happened = this.#happened
    this.#happened = []
    try {
      for (const tell of happened) tell()
    } catch (error) {
      // Whoever happens to be at work has nothing to do with it.
      this.#failure ??= { error }
      this.stop()
    }
  }

  /** An actor wrote, or failed to do what it wanted with the database. */
  turn(actor: number, what: string, failure?: ErrorRecord): void {
    this.#allRead()
    this.#later(() => {
      const name = this.name(what)
      if (failure) this.#line(JSON.stringify(['t', actor, name, failure] satisfies Entry))
      else this.#next(actor, 3 * name)
    })
  }

  /** An actor was given nothing. */
  nothing(actor: number, what: string): void {
    this.#later(() => this.#next(actor, 3 * this.name(what) + 1))
  }

  /** Something came to an actor from outside. @param json its entry, made later */
  came(actor: RecordedActor, json: () => string): void {
    this.#read(actor)
    this.#later(() => this.#line(json()))
  }

  /** What everybody has read until now, which is about to change. */
  #allRead(): void {
    for (const actor of this.#acting) this.#read(actor)
  }

  /** What an actor has read until now, when something comes to it from outside. */
  #read(actor: RecordedActor): void {
    const reads = actor.readsSince()
    if (reads > 0) this.#later(() => this.#next(actor.id, 3 * reads + 2))
  }

  #next(actor: number, what: number): void {
    if (this.#turning !== actor) {
      this.#turning = actor
      this.#turns.push(~actor)
    }
    this.#turns.push(what)
  }

  #turned(): void {
    if (this.#turning === undefined) return
    this.#push(`["p",[${this.#turns}]]`)
    this.#turns = []
    this.#turning = undefined
  }

  /** Adds an entry as its JSON. */
  #line(json: string): void {
    this.#turned()
    this.#push(json)
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

  /**
   * All entries since the last time, as JSON with commas between them: texts, each of some entries.
   * @throws what kept something that happened from becoming a text, such as a value that JSON cannot hold
   */
  take(): string[] {
    for (const actor of this.#acting) actor.tellDrawn()
    this.#tellAll()
    if (this.#failure) throw this.#failure.error
    this.#turned()
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
      this.#line(`["s",${name},${JSON.stringify(text)}]`)
    }
    return name
  }

  /**
   * A value, as it is now: whoever gets it may change it.
   * @param long what is as long stands apart, in characters
   * @returns what makes of it, later, what stands on the tape
   */
  value(value: unknown, long = LONG): () => string {
    if (value === undefined) return () => 'null'
    if (typeof value === 'object' && value !== null && Object.isFrozen(value))
      return () => (long === LONG ? this.#fixed(value) : this.#packed(JSON.stringify(value), long))
    const json = JSON.stringify(value) ?? 'null'
    return () => this.#packed(json, long)
  }

  /** What is fixed, and comes again, is known to be the same without being looked at. */
  #fixed(value: object): string {
    let packed = this.#known.get(value)
    if (packed === undefined) {
      packed = this.#packed(JSON.stringify(value), WORTH_A_NAME)
      this.#known.set(value, packed)
    }
    return packed
  }

  #packed(json: string, long: number): string {
    return json.length < long ? `{"$j":${json}}` : this.#longOne(json)
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
      this.#line(`["x",${known},${JSON.stringify(text)}]`)
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

/** What an actor has asked for, and what that is an answer to. */
interface Taking {
  what: string
  asked: Asked | undefined
}

/** A cycle that is being recorded. */
export class RecordedActor implements Actor {
  over = false
  readonly id: number
  readonly #tape: TapeRecorder
  /** What it drew and the tape was not told yet. */
  #ms: number[] = []
  #micros: number[] = []
  #ids: string[] = []
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
      this.#ids.push(drawn as string)
      return drawn
    }
    if (kind === 'ms') {
      this.#ms.push((drawn as number) - this.#lastMs)
      this.#lastMs = drawn as number
      return drawn
    }
    // As fine as it is written down, so that it is the same again.
    const micros = Math.round((drawn as number) * 1000)
    this.#micros.push(micros - this.#lastMicros)
    this.#lastMicros = micros
    return (micros / 1000) as T
  }

  take<T>(what: string, work: () => T | Promise<T>, asked?: () => Asked): T | Promise<T> {
    const taking = { what, asked: asked && [...asked()] }
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
  #earlier({ what }: Taking, upTo = this.#waiting.length): number {
    let earlier = 0
    for (let at = 0; at < upTo; at++) if (this.#waiting[at]!.what === what) earlier++
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
    const { what, asked } = taking
    if (value === undefined && !asked && earlier === 0) this.#tape.nothing(this.id, what)
    else this.#tell(taking, earlier, this.#tape.value(value, what === MODEL ? LONG_ANSWER : LONG), '')
    return value
  }

  #failed(taking: Taking, earlier: number, error: unknown): unknown {
    this.#tell(taking, earlier, () => 'null', JSON.stringify(recordOf(error)))
    return error
  }

  #tell({ what, asked }: Taking, earlier: number, value: () => string, failure: string): void {
    const tape = this.#tape
    tape.came(this, () => {
      if (what === MODEL) tape.counts.steps++
      const [name, digest] = [tape.name(what), asked ? tape.digester.of(asked) : 0]
      const tail = earlier > 0 ? `,${failure || 'null'},${earlier}` : failure && `,${failure}`
      return `["v",${this.id},${name},${digest},${value()}${tail}]`
    })
  }

  turn<T>(what: string, work: () => T): T {
    try {
      const done = work()
      this.#tape.turn(this.id, what)
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
    if (!/^SQLITE_(BUSY|LOCKED)/.test(String(record.code))) this.#tape.turn(this.id, what, record)
    return error
  }

  timer(fn: () => void): () => void {
    const n = this.#timers++
    return () => {
      if (!this.over) this.#tape.came(this, () => `["f",${this.id},${n}]`)
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
    this.#tape.add(['e', this.id])
  }

  /** Tells the tape what was drawn since the last time. */
  tellDrawn(): void {
    if (this.#ms.length + this.#micros.length + this.#ids.length === 0) return
    this.#tape.add(['d', this.id, this.#ms, this.#micros, this.#ids])
    this.#ms = []
    this.#micros = []
    this.#ids = []
  }
}
