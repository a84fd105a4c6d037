import { type Effect, type PluginHandle, SvcError, sentenceOf } from '#kernel'
import { Mail } from '../a2a/contract.ts'
import { Agents } from '../agents/contract.ts'
import { sanitize } from '../goals/contract.ts'
import { appendEvent, Store } from '../store/contract.ts'
import {
  type CollaborationPattern,
  CollaborationPatterns,
  type PATTERN_ENDS,
  PatternNotFoundError,
  PatternParticipantsError,
  PatternRunNotFoundError,
  type PatternState,
  type Step,
  TooManyPatternsError,
} from './contract.ts'
import {
  endRun,
  findRun,
  insertRun,
  messagesOf,
  type PatternRow,
  participantsOf,
  running,
  runningOf,
} from './repository.ts'

export interface NewPattern {
  name: string
  initiator: string
  participants: readonly string[]
  task: string
  rounds?: number | undefined
  /** Seconds. */
  timeout?: number | undefined
}

export interface PatternLimits {
  timeout: number
  max_running: number
}

/** Runs patterns: whenever a message of one was sent it is asked what comes next, by what is written alone. */
export class PatternRunner {
  readonly #svc: PluginHandle
  readonly #limits: PatternLimits
  #turn: Promise<unknown> = Promise.resolve()

  constructor(svc: PluginHandle, limits: PatternLimits) {
    this.#svc = svc
    this.#limits = limits
  }

  /** The writes that begin a run, its first messages among them. */
  async begin(start: NewPattern): Promise<{ pattern_id: string; effects: Effect[] }> {
    const { name, task } = start
    const pattern = this.#pattern(name)
    const agents = this.#svc.use(Agents)
    const initiator = (await agents.find(start.initiator)).agent_id
    const found = await Promise.all(start.participants.map(ref => agents.find(ref)))
    const participants = found.map(({ agent_id }) => agent_id)
    const { min, max } = pattern.participants
    const problem =
      participants.length < min || participants.length > max
        ? `${participants.length} were named`
        : new Set([initiator, ...participants]).size <= participants.length
          ? 'one was named twice'
          : undefined
    if (problem) throw new PatternParticipantsError({ name, min, max, problem })
    const limit = this.#limits.max_running
    if ((await runningOf(this.#svc.use(Store), initiator)) >= limit) throw new TooManyPatternsError({ limit })
    const pattern_id = this.#svc.ports.ids.make('pat', 8)
    const rounds = Math.min(start.rounds ?? pattern.rounds.usual, pattern.rounds.max)
    const within = Math.round((start.timeout ?? this.#limits.timeout) * 1000)
    const run = { name, initiator, participants, task: sanitize(task), rounds }
    const move = pattern.next(stateOf(pattern_id, run, []))
    return {
      pattern_id,
      effects: [
        insertRun({ pattern_id, ...run, within }),
        appendEvent({ type: 'pattern_started', agent_id: initiator, data: { agent_id: initiator, pattern_id, name } }),
        ...('send' in move ? await this.#steps(pattern_id, move.send) : []),
      ],
    }
  }

  /** @throws PatternRunNotFoundError */
  async find(pattern_id: string): Promise<PatternRow> {
    const row = await findRun(this.#svc.use(Store), pattern_id)
    if (!row) throw new PatternRunNotFoundError({ pattern_id })
    return row
  }

  async cancel(pattern_id: string): Promise<PatternRow> {
    const row = await this.find(pattern_id)
    const messages = await messagesOf(this.#svc.use(Store), pattern_id)
    await this.#end(row, 'cancelled', this.#partial(row, messages))
    return this.find(pattern_id)
  }

  /** All that run: for what other processes wrote, and for deadlines. */
  async sweep(): Promise<void> {
    for (const { pattern_id } of await running(this.#svc.use(Store))) await this.advance(pattern_id)
  }

  /** Does what comes next in a run. One at a time: its steps have ids of their own, so that none is sent twice anyway. */
  advance(pattern_id: string): Promise<void> {
    const done = this.#turn
      .then(() => this.#advance(pattern_id))
      .catch(error => {
        this.#svc.log.warn({}, `the pattern ${pattern_id} does not go on: ${sentenceOf(error)}`)
      })
    this.#turn = done
    return done
  }

  async #advance(pattern_id: string): Promise<void> {
    const store = this.#svc.use(Store)
    const row = await findRun(store, pattern_id)
    if (row?.status !== 'running') return
    const messages = await messagesOf(store, pattern_id)
    if (this.#svc.clock.ms() >= row.deadline) return this.#end(row, 'timed_out', this.#partial(row, messages))
    // A plugin's pattern may be away while it is replaced.
    const pattern = this.#svc.find(CollaborationPatterns, row.name)
    if (!pattern) return
    const move = pattern.next(stateOf(pattern_id, { ...row, participants: participantsOf(row) }, messages))
    if ('end' in move) return this.#end(row, move.end, move.result)
    const sent = new Set(messages.map(({ message_id }) => message_id))
    try {
      const effects = await this.#steps(
        pattern_id,
        move.send.filter(({ step }) => !sent.has(idOf(pattern_id, step))),
      )
      if (effects.length > 0) await store.apply(effects)
    } catch (error) {
      if (!(error instanceof SvcError)) throw error
      await this.#end(row, 'declined', { ...this.#partial(row, messages), reason: error.message })
    }
  }

  async #steps(pattern_id: string, steps: readonly Step[]): Promise<Effect[]> {
    const effects: Effect[] = []
    for (const { step, type, from, to, subject, body } of steps) {
      const message_id = idOf(pattern_id, step)
      const posted = await this.#svc
        .use(Mail)
        .post({ message_id, type, from_agent: from, to, subject, body, pattern_id })
      effects.push(...posted.effects)
    }
    return effects
  }

  async #end(row: PatternRow, status: (typeof PATTERN_ENDS)[number], result: Record<string, unknown>): Promise<void> {
    const { pattern_id, initiator, name } = row
    const data = { agent_id: initiator, pattern_id, name, status }
    const ended = appendEvent({ type: 'pattern_ended', agent_id: initiator, data })
    await this.#svc.use(Store).apply([endRun({ pattern_id, status, result }), ended])
  }

  #partial(row: PatternRow, messages: PatternState['messages']): Record<string, unknown> {
    const pattern = this.#svc.find(CollaborationPatterns, row.name)
    return pattern?.partial(stateOf(row.pattern_id, { ...row, participants: participantsOf(row) }, messages)) ?? {}
  }

  #pattern(name: string): CollaborationPattern {
    const pattern = this.#svc.find(CollaborationPatterns, name)
    if (pattern) return pattern
    throw new PatternNotFoundError({ name, known: this.#svc.list(CollaborationPatterns).map(each => each.name) })
  }
}

/** A step is known by its run and name. */
function idOf(pattern_id: string, step: string): string {
  return `msg-${pattern_id}-${step}`
}

function stateOf(
  pattern_id: string,
  { initiator, participants, task, rounds }: Pick<PatternState, 'initiator' | 'participants' | 'task' | 'rounds'>,
  messages: PatternState['messages'],
): PatternState {
  return {
    ...{ initiator, participants, task, rounds, messages },
    answerTo(step) {
      const id = idOf(pattern_id, step)
      // An acceptance promises an answer and is none; the answer to it comes from whom it was sent to.
      const to = messages.find(({ message_id }) => message_id === id)?.to_agent
      return messages.find(({ reply_to, type, from_agent }) => reply_to === id && type !== 'ack' && from_agent === to)
    },
  }
}
