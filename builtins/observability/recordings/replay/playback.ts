import { type Clock, errorMessage, type Kernel } from '#kernel'
import {
  type CycleEnd,
  type ExecutionIdentity,
  inContext,
  type RecordedQuestion,
  type RecordingBackend,
  type RecordingContext,
  runInContext,
} from '#lib/recording-context'
import { Store } from '#platform/store/contract'
import { type Divergence, Mirrors, TaskDriver } from '../contract.ts'
import type { Digester } from '../recording/digest.ts'
import { statements } from '../recording/effects.ts'
import { type Entry, errorOf, MODEL } from '../recording/entries.ts'
import type { Recorder } from '../recording/recorder.ts'
import { ReplayedContext, settle, type Waiting } from './replayed-context.ts'
import { type Happening, type Score, WRITES } from './score.ts'

/** Time without progress after which a replay counts as stalled, in milliseconds. */
const STALLED_MS = 3_000
/** Number of event loop turns within which every context that can continue does so. */
const TURNS = 5
/** Disk errors. They do not recur in a replay, so the recorded error is thrown. */
const DISK = /^SQLITE_(FULL|IOERR)/

export interface PlaybackParts {
  score: Score
  /** The machine's clock, for everything that is not replayed. */
  clock: Clock
  digester: Digester
  /** Compares the events written so far. */
  compare: () => Promise<Divergence | undefined>
  /** Applies a configuration. */
  configure: (config: Record<string, unknown>) => Promise<void>
  /**
   * Loads a plugin.
   * @param file its file, if a fork added it
   */
  loadPlugin: (name: string, file: string | undefined) => Promise<void>
}

/**
 * Replays a recording: every write of every context in its original order, its reads between the same writes, and each
 * input as it was.
 */
export class Playback implements RecordingBackend {
  readonly repeats = true
  readonly #parts: PlaybackParts
  readonly #actors = new Map<number, ReplayedContext>()
  readonly #cycles = new Map<number, Promise<void>>()
  #kernel: Kernel | undefined
  #begins: number | undefined
  #onMove: () => void = () => {}
  #head = 0
  #live: Recorder | undefined
  divergence: Divergence | undefined
  cycles = 0
  steps = 0

  constructor(parts: PlaybackParts) {
    this.#parts = parts
  }

  get pretends(): boolean {
    return this.#kernel !== undefined && this.#live === undefined
  }

  begin(identity: ExecutionIdentity, abort: CycleEnd): RecordingContext | undefined {
    if (this.#begins === undefined) return this.#live?.begin(identity, abort)
    const id = this.#begins
    const { score } = this.#parts
    const actor = new ReplayedContext({
      ...{ drawn: score.valuesOf(id), abort },
      onMove: () => this.#onMove(),
      rest: () => this.#rest(),
      isRecomputed: what => score.isRecomputed(id, what),
    })
    this.#actors.set(id, actor)
    actor.mayRead(score.readsBefore(id, this.#head))
    this.#begins = undefined
    return actor
  }

  recordWrites(statements: Parameters<RecordingBackend['recordWrites']>[0]): void {
    this.#live?.recordWrites(statements)
  }

  /**
   * Replays up to the end of the recording, or to the first difference.
   * @param from stops before the model answer with this number
   */
  async run(kernel: Kernel, signal: AbortSignal, from = Number.POSITIVE_INFINITY): Promise<void> {
    this.#kernel = kernel
    const { happenings } = this.#parts.score
    await this.#compare()
    for (; this.#head < happenings.length && !this.divergence; this.#head++) {
      signal.throwIfAborted()
      const happening = happenings[this.#head]!
      if (this.#parts.score.isStep(happening) && this.steps + 1 >= from) return this.#stand(happening)
      await this.#repeat(happening)
    }
  }

  /** Number of cycles that are not replayed yet. */
  get remainingCycles(): number {
    return this.#parts.score.happenings.slice(this.#head).filter(([kind]) => kind === 'b').length
  }

  /** Returns the clocks as the last reading context saw them. */
  get now(): { ms: number; monotonic: number } {
    const all = [...this.#actors.values()].map(({ last }) => last)
    return { ms: Math.max(0, ...all.map(({ ms }) => ms)), monotonic: Math.max(0, ...all.map(last => last.monotonic)) }
  }

  /** Returns the recording as far as it was replayed, from which another one continues. */
  playedEntries(): Entry[] {
    const { score } = this.#parts
    const drawn = [...this.#actors]
      .map(([id, { used }]) => score.drawnEntry(id, used))
      .filter(entry => entry !== undefined)
    return [...score.names, ...score.happenings.slice(0, this.#head), ...drawn]
  }

  /**
   * Continues with real inputs, and records: contexts that wait get real results.
   * @param first is done before they continue
   */
  async goLive(recorder: Recorder, first: () => Promise<void>): Promise<void> {
    this.#live = recorder
    const acting = [...this.#actors]
      .filter(([, actor]) => !actor.over)
      .map(([id, actor]) => {
        return {
          actor,
          recorded: recorder.openContext(id, actor.abort, { ...actor.last, reads: actor.unreportedReads }),
        }
      })
    await first()
    for (const { actor, recorded } of acting) actor.goLive(recorded)
  }

  /** Resolves when the cycles in progress have ended. */
  async waitForCycles(): Promise<void> {
    await Promise.all(this.#cycles.values())
  }

  /** Resolves when the context waits for a model and all other contexts have stopped. */
  async #stand(happening: Happening): Promise<void> {
    await this.#until(happening, actor => (actor.waiting.some(({ what }) => what === MODEL) ? true : undefined))
    await this.#rest()
  }

  /** Resolves when every context that could go on has done so. */
  async #rest(): Promise<void> {
    for (let n = 0; n < TURNS; n++) await this.#parts.clock.yield()
  }

  async #repeat(happening: Happening): Promise<void> {
    const { score } = this.#parts
    switch (happening[0]) {
      case 'b': {
        const [, id, agent, kind, owner, epoch, cycle_num, task_id] = happening
        this.#begins = id
        if (kind !== 'task') this.cycles++
        const driven =
          task_id === undefined
            ? this.#kernel!.heartbeat.drive({ id: agent, kind: kind as 'agent', owner, epoch, cycle_num })
            : (await this.#kernel!.use(TaskDriver).drive(task_id)).ended
        this.#cycles.set(
          id,
          driven.finally(() => this.#cycles.delete(id)),
        )
        return
      }
      case 'f': {
        const over = await this.#until(happening, ({ timers }) => timers[happening[2]])
        await this.#rest()
        if (over) inContext(this.#actors.get(happening[1]), over)
        return
      }
      case 'a':
        await this.#rest()
        this.#actors.get(happening[1])?.abort.abort(errorOf(happening[2]))
        return
      case 'o': {
        const written = happening[1].map(([name, ...params]) => {
          return { sql: score.text(name), params: params.map(param => score.param(param)) }
        })
        try {
          await runInContext(BYSTANDER, async () => {
            await this.#kernel!.use(Store).apply([statements(written)])
            for (const mirror of this.#kernel!.list(Mirrors)) await mirror.look()
          })
        } catch (error) {
          // For example, rows that refer to rows of another process.
          const expected = shorten(written.map(({ sql }) => sql).join('; '))
          return this.#diverge(happening, 'a recorded write from outside the agents cannot be repeated', {
            expected,
            got: errorMessage(error),
          })
        }
        this.#readOn()
        return this.#compare()
      }
      case 'c':
        return this.#parts.configure(happening[1])
      case 'u': {
        const [, name, comes, file] = happening
        await this.#rest()
        return comes ? this.#parts.loadPlugin(name, file) : this.#kernel!.host.remove(name)
      }
      case 'e':
        return this.#until(happening, actor => (actor.over ? true : undefined)).then(() => {})
      case 't': {
        const [, , name, failure] = happening
        const turn = await this.#arrival(happening, 't', score.text(name))
        if (!turn) return
        if (failure && DISK.test(String(failure.code))) turn.reject(errorOf(failure))
        else settle(turn)
        this.#readOn()
        if (WRITES.test(turn.what)) await this.#compare()
        return
      }
      case 'n': {
        this.#actors.get(happening[1])?.addReads(happening[2])
        await this.#until(happening, ({ unreportedReads }) => (unreportedReads >= 0 ? true : undefined))
        return
      }
      case 'v': {
        const [, , name, digest, value, failure, earlier] = happening
        const isStep = score.isStep(happening)
        const taking = await this.#arrival(happening, 'v', score.text(name), earlier)
        if (!taking) return
        if (isStep) this.steps++
        const asked = digest && taking.asked ? taking.asked() : undefined
        const { digester } = this.#parts
        if (asked && digest !== (typeof digest === 'string' ? digester.legacyDigest(asked) : digester.of(asked))) {
          this.#diverge(happening, 'the request to the model differs from the recorded one', {
            expected: `a request with the digest ${digest}`,
            got: `… ${textOf(asked.at(-1) ?? '').slice(-300)}`,
          })
        } else if (failure) taking.reject(errorOf(failure))
        else taking.resolve(score.value(value))
      }
    }
  }

  /** Lets contexts continue that read after a write which has now happened. */
  #readOn(): void {
    const { score } = this.#parts
    for (const id of this.#cycles.keys()) this.#actors.get(id)?.mayRead(score.readsBefore(id, this.#head + 1))
  }

  /** Finds the wait of a context that an entry belongs to. @param earlier number of waits of the same name before it */
  #arrival(happening: Happening, kind: Waiting['kind'], what: string, earlier = 0): Promise<Waiting | undefined> {
    return this.#until(happening, actor => {
      const found = actor.waiting.filter(
        each => each.kind === kind && (each.what === what || (what === 'write' && WRITES.test(each.what))),
      )[earlier]
      if (found) actor.waiting.splice(actor.waiting.indexOf(found), 1)
      return found
    })
  }

  async #until<T>(happening: Happening, find: (actor: ReplayedContext) => T | undefined): Promise<T | undefined> {
    const actor = this.#actors.get(happening[1] as number)
    const stalled = new AbortController()
    const cancel = this.#parts.clock.after(STALLED_MS, () => {
      stalled.abort()
      this.#onMove()
    })
    try {
      for (;;) {
        const moved = new Promise<void>(resolve => {
          this.#onMove = resolve
        })
        const found = actor && find(actor)
        if (found !== undefined) return found
        if (!actor || actor.over || stalled.signal.aborted) break
        await moved
      }
    } finally {
      cancel()
    }
    const got = actor?.over ? 'the end of its cycle' : actor?.waiting.map(each => shorten(each.what)).join('; and ')
    this.#diverge(happening, 'the next action differs from the recorded one', {
      expected: this.#describe(happening),
      got: got || 'nothing more',
    })
    return undefined
  }

  #describe(happening: Happening): string {
    if (happening[0] === 'e') return 'the end of its cycle'
    if (happening[0] === 'f') return 'the end of a timer'
    if (happening[0] === 'n') return `${happening[2]} reads before the next write`
    if (happening[0] !== 't' && happening[0] !== 'v') return happening[0]
    return shorten(this.#parts.score.text(happening[2]))
  }

  #diverge(happening: Happening, what: string, { expected, got }: { expected: string; got: string }): void {
    const whose = this.#parts.score.ownerOf(happening[1] as number)
    const { agent_id = null, cycle_num = null } = whose ?? {}
    this.divergence ??= { agent_id, cycle_num, step: this.steps, seq: null, what, expected, got }
  }

  async #compare(): Promise<void> {
    const found = await this.#parts.compare()
    if (found) this.divergence ??= { ...found, step: this.steps }
  }
}

function textOf(asked: RecordedQuestion[number]): string {
  return typeof asked === 'string' ? asked : JSON.stringify(asked)
}

function shorten(what: string): string {
  return what.replace(/\s+/g, ' ').slice(0, 300)
}

/** Context in which writes of other processes are repeated unchanged. */
const BYSTANDER: RecordingContext = {
  draw: (_, real) => real(),
  take: (_, work) => work(),
  turn: (_, work) => work(),
  read: (_, work) => work(),
  timer: fn => fn,
  sideChannel: () => undefined,
  end: () => {},
  over: false,
}
