import { Agents } from '#core/agents/contract'
import { Goals, type OpenWork } from '#core/goals/contract'
import type { CallLimit } from '#core/models/contract'
import { type Effect, errorMessage, type PluginHandle, SvcError, token } from '#kernel'
import { sanitize, sanitizeLine } from '#lib/sanitize'
import { Alarms } from '#platform/schedules/contract'
import { appendEvent, Store, wakeAgents } from '#platform/store/contract'
import { type A2AMessage, type Draft, Mail, type SentFiles } from '#society/a2a/contract'
import type { PatternsConfig } from './config.ts'
import {
  type CollaborationPattern,
  CollaborationPatterns,
  type Move,
  type PATTERN_ENDS,
  PatternNotFoundError,
  PatternParticipantsError,
  type PatternRun,
  PatternRunNotFoundError,
  type PatternState,
  type Step,
  TooManyPatternsError,
} from './contract.ts'
import {
  agentsAsked,
  endRun,
  findMissingAgents,
  findRun,
  goalSince,
  insertRun,
  isWaitedFor,
  listRunning,
  messagesOf,
  openGoals,
  type PatternRow,
  participantsOf,
  runningFor,
  runningOf,
  runOf,
  type SpendSum,
  spendOfRun,
  waitingFor,
  withdraw,
} from './repository.ts'
import { idOf, rejection, stateOf } from './state.ts'

export interface NewPattern {
  name: string
  initiator: string
  participants: readonly string[]
  task: string
  /** Files that go with the first messages. */
  files?: SentFiles
  rounds?: number | undefined
  /** Time limit, in seconds. */
  timeout?: number | undefined
  /** Maximum cost; 0 sets no limit. */
  budget_usd?: number | undefined
  budget_tokens?: number | undefined
}

/** Maximum length of the reason in the notice of an end, in characters. */
const LONGEST_REASON = 300
/** Maximum number of steps of a pattern: one that does not end is stopped. */
const MOST_STEPS = 1_000

export const OwnPatterns = token<PatternRunner>('patterns/runner')

/** Returns whether a step repeats the text of an answer to its recipient, who then need not read the answer as well. */
function repeats({ to, body }: Step, { reply_to, to_agent, body: text }: A2AMessage): boolean {
  return reply_to !== null && to_agent === to && body.includes(text)
}

/** Runs patterns: after each message of a run, asks the pattern for its next move, based only on stored messages. */
export class PatternRunner {
  readonly #svc: PluginHandle
  readonly #limits: PatternsConfig
  #turn: Promise<unknown> = Promise.resolve()

  constructor(svc: PluginHandle, limits: PatternsConfig) {
    this.#svc = svc
    this.#limits = limits
  }

  /** Returns the writes that start a run, including its first messages. */
  async begin(start: NewPattern): Promise<{ pattern_id: string; effects: Effect[] }> {
    const { name, task } = start
    const pattern = this.#pattern(name)
    const agents = this.#svc.use(Agents)
    const initiator = (await agents.find(start.initiator)).agent_id
    const found = await Promise.all(start.participants.map(ref => agents.find(ref, start.files?.call.agent_id)))
    const participants = found.map(({ agent_id }) => agent_id)
    const { min, max } = pattern.participants
    const problem =
      participants.length < min || participants.length > max
        ? `${participants.length} ${participants.length === 1 ? 'was' : 'were'} named`
        : new Set([initiator, ...participants]).size <= participants.length
          ? 'one agent was named twice'
          : undefined
    if (problem) throw new PatternParticipantsError({ name, min, max, problem })
    const limit = this.#limits.max_running
    if ((await runningOf(this.#svc.use(Store), initiator)) >= limit) throw new TooManyPatternsError({ limit })
    const pattern_id = this.#svc.ports.ids.make('pat', 8)
    const rounds = Math.min(start.rounds ?? pattern.rounds.usual, pattern.rounds.max)
    const within = Math.round((start.timeout ?? this.#limits.timeout) * 1000)
    const run = { name, initiator, participants, task: sanitize(task), rounds }
    const usd = start.budget_usd ?? this.#limits.budget_usd
    const tokens = start.budget_tokens ?? this.#limits.budget_tokens
    const budget = { max_micros: usd > 0 ? Math.round(usd * 1e6) : null, max_tokens: tokens > 0 ? tokens : null }
    const move = pattern.next(stateOf(pattern_id, run, [], new Map()))
    return {
      pattern_id,
      effects: [
        insertRun({ pattern_id, ...run, ...budget, within }),
        appendEvent({ type: 'pattern_started', agent_id: initiator, data: { agent_id: initiator, pattern_id, name } }),
        ...('send' in move
          ? await this.#steps({ pattern_id, ...run }, move.send, start.files ? { files: start.files } : {})
          : []),
      ],
    }
  }

  /** @param asker the only agent whose runs are found @throws PatternRunNotFoundError */
  async find(pattern_id: string, asker?: string): Promise<PatternRow> {
    const row = await findRun(this.#svc.use(Store), pattern_id)
    const isHidden = asker !== undefined && row && ![row.initiator, ...participantsOf(row)].includes(asker)
    if (!row || isHidden) throw new PatternRunNotFoundError({ pattern_id, asker })
    return row
  }

  /**
   * Returns a run in its public form, with its cost so far.
   * @throws PatternRunNotFoundError
   */
  async findRun(pattern_id: string): Promise<PatternRun> {
    return this.toRun(await this.find(pattern_id))
  }

  async toRun(row: PatternRow): Promise<PatternRun> {
    const { pattern_id, status } = row
    if (status !== 'running') return runOf(row)
    const store = this.#svc.use(Store)
    return runOf(row, await spendOfRun(store, pattern_id), await agentsAsked(store, pattern_id))
  }

  async cancel(pattern_id: string): Promise<void> {
    const row = await this.find(pattern_id)
    const messages = await messagesOf(this.#svc.use(Store), pattern_id)
    await this.#end(row, 'cancelled', this.#partial(row, messages))
  }

  /**
   * Returns a call limit that, before an agent's model call, ends runs that wait for the agent and have used up their
   * budget.
   */
  limit(): CallLimit {
    return {
      name: 'patterns',
      question: ({ agent_id }) => (agent_id === null ? undefined : isWaitedFor(agent_id)),
      hold: async ({ purpose: { agent_id } }, isWaiting) => {
        if (agent_id === null || !isWaiting) return
        for (const { pattern_id } of await waitingFor(this.#svc.use(Store), agent_id)) await this.advance(pattern_id)
      },
      settle: async () => {},
    }
  }

  /** Returns the patterns for which a goal may wait. */
  async open(goal_id: string): Promise<OpenWork[]> {
    const running = await runningFor(this.#svc.use(Store), goal_id)
    return running.map(({ pattern_id, name }) => ({ what: `${pattern_id} (${name})` }))
  }

  /** Advances all running patterns, for messages of other processes and for deadlines. */
  async sweep(): Promise<void> {
    for (const { pattern_id } of await listRunning(this.#svc.use(Store))) await this.advance(pattern_id)
  }

  /**
   * Makes the next move of a run. Serialized in this process; across processes, fixed step ids prevent sending a step
   * twice.
   */
  advance(pattern_id: string): Promise<void> {
    const done = this.#turn
      .then(() => this.#advance(pattern_id))
      .catch(error => {
        this.#svc.log.warn({}, `cannot advance the pattern run ${pattern_id}: ${errorMessage(error)}`)
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
    const gone = await findMissingAgents(store, [row.initiator, ...participantsOf(row)])
    if (gone.has(row.initiator))
      return this.#end(row, 'cancelled', {
        ...this.#partial(row, messages),
        reason: `${row.initiator} is dead or was deleted.`,
      })
    const move = this.#next(pattern, row, messages, gone)
    if ('end' in move) return this.#end(row, move.end, move.result)
    const spent = await this.#over(row)
    if (spent) return this.#end(row, 'over_budget', this.#partial(row, messages), spent)
    const sent = new Set(messages.map(({ message_id }) => message_id))
    try {
      const steps = move.send.filter(({ step }) => !sent.has(idOf(pattern_id, step)))
      const effects = await this.#steps(row, steps, { once: true })
      if (effects.length === 0) return
      const repeated = messages.filter(answer => steps.some(step => repeats(step, answer)))
      await store.apply([...effects, this.#svc.use(Mail).read(repeated.map(({ message_id }) => message_id))])
    } catch (error) {
      if (!(error instanceof SvcError)) throw error
      await this.#end(row, 'declined', { ...this.#partial(row, messages), reason: error.message })
    }
  }

  async #steps(
    { pattern_id, name, initiator }: Pick<PatternRow, 'pattern_id' | 'name' | 'initiator'>,
    steps: readonly Step[],
    more: Pick<Draft, 'once' | 'files'>,
  ): Promise<Effect[]> {
    const effects: Effect[] = []
    for (const { step, type, from, to, subject: about, body } of steps) {
      // The sender did not write it.
      const subject = `${about} (sent by the pattern ${name} for ${initiator})`.trim()
      const message_id = idOf(pattern_id, step)
      const posted = await this.#svc
        .use(Mail)
        .post({ message_id, type, from_agent: from, to, subject, body, pattern_id, ...more })
      effects.push(...posted.effects)
    }
    return effects
  }

  /** Returns the pattern's next move, with missing agents and those silent for too long counted as rejecting. */
  #next(pattern: CollaborationPattern, row: PatternRow, messages: PatternState['messages'], gone: Set<string>): Move {
    const declined = new Map<string, A2AMessage>()
    const state = stateOf(row.pattern_id, { ...row, participants: participantsOf(row) }, messages, declined)
    for (let n = 0; n < MOST_STEPS; n++) {
      const move = pattern.next(state)
      if ('end' in move) return move
      const unanswered = move.send.filter(({ step }) => state.answerTo(step) === undefined)
      const lost = unanswered.flatMap(step => {
        const reason = this.#whySilent(row, step, messages, gone)
        return reason === undefined ? [] : [{ step, reason }]
      })
      if (lost.length === 0) return { send: unanswered }
      for (const { step, reason } of lost) declined.set(step.step, rejection(row.pattern_id, step, reason))
    }
    return { end: 'declined', result: { reason: `The pattern asked for more than ${MOST_STEPS} steps.` } }
  }

  /** Returns why no answer to a step is expected any more. */
  #whySilent({ pattern_id }: PatternRow, step: Step, messages: PatternState['messages'], gone: Set<string>) {
    if (gone.has(step.to)) return `${step.to} is dead or was deleted.`
    const request = messages.find(({ message_id }) => message_id === idOf(pattern_id, step.step))
    if (!request) return undefined
    const { answer_timeout } = this.#limits
    // An agent that sent ACK has time until the run's deadline.
    const accepted = messages.some(({ reply_to, type }) => reply_to === request.message_id && type === 'ack')
    const silent = this.#svc.clock.ms() - Date.parse(request.ts) >= answer_timeout * 1000
    return silent && !accepted ? `${step.to} has not answered within ${answer_timeout} s.` : undefined
  }

  /** Returns a run's spending if its budget is used up; otherwise undefined. */
  async #over({ pattern_id, max_micros, max_tokens }: PatternRow): Promise<SpendSum | undefined> {
    if (max_micros === null && max_tokens === null) return undefined
    const spent = await spendOfRun(this.#svc.use(Store), pattern_id)
    const isOver =
      (max_micros !== null && spent.micros >= max_micros) || (max_tokens !== null && spent.tokens >= max_tokens)
    return isOver ? spent : undefined
  }

  /** Ends a run, withdraws its unread messages and abandons its open goals, so that no agent continues them. */
  async #end(
    row: PatternRow,
    status: (typeof PATTERN_ENDS)[number],
    result: Record<string, unknown>,
    known?: SpendSum,
  ): Promise<void> {
    const store = this.#svc.use(Store)
    const { pattern_id, initiator, name } = row
    const spent = known ?? (await spendOfRun(store, pattern_id))
    const data = { agent_id: initiator, pattern_id, name, status }
    const ended = [
      endRun({ pattern_id, status, result, spent }),
      appendEvent({ type: 'pattern_ended', agent_id: initiator, data }),
      ...(await this.#reportEnd(row, status, result)),
    ]
    const taken = status === 'completed' ? [] : await this.#abandonGoals(pattern_id, status)
    if (await store.apply([...ended, ...taken])) return
    // A goal ended in the meantime, so only the messages are withdrawn.
    await store.apply([...ended, withdraw({ pattern_id })])
  }

  /**
   * Returns the writes by which the initiator learns of the end: a notice for the goal that started the run, or else a
   * wake if it has something to read or do.
   */
  async #reportEnd(
    { pattern_id, initiator, name, created_at }: PatternRow,
    status: string,
    { reason }: Record<string, unknown>,
  ): Promise<Effect[]> {
    const goal_id = await goalSince(this.#svc.use(Store), initiator, created_at)
    if (goal_id !== undefined && this.#svc.has(Alarms)) {
      const why = typeof reason === 'string' ? ` (${sanitizeLine(reason).slice(0, LONGEST_REASON)})` : ''
      const description = `The pattern ${pattern_id} (${name}) that you started has ended: ${status}${why}. pattern_status shows its result.`
      const notice = { agent_id: initiator, goal_id, description, at: this.#svc.clock.ms() + 1 }
      const { effects } = await this.#svc.use(Alarms).make({ ...notice, created_by: 'process' })
      if (effects.length > 0) return effects
    }
    const hasWork = goal_id !== undefined || (await this.#svc.use(Mail).listUnread(initiator, 1)).length > 0
    return hasWork ? [wakeAgents({ agents: [initiator], reason: 'pattern' })] : []
  }

  async #abandonGoals(pattern_id: string, status: string): Promise<Effect[]> {
    const goals = await openGoals(this.#svc.use(Store), pattern_id)
    const why = `The pattern run ${pattern_id} of this goal has ended: ${status}.`
    const given = await Promise.all(goals.map(goal => this.#svc.use(Goals).abandon(goal, why)))
    return [withdraw({ pattern_id }), ...given.flat()]
  }

  #partial(row: PatternRow, messages: PatternState['messages']): Record<string, unknown> {
    const pattern = this.#svc.find(CollaborationPatterns, row.name)
    const state = { ...row, participants: participantsOf(row) }
    return pattern?.partial(stateOf(row.pattern_id, state, messages, new Map())) ?? {}
  }

  #pattern(name: string): CollaborationPattern {
    const pattern = this.#svc.find(CollaborationPatterns, name)
    if (pattern) return pattern
    throw new PatternNotFoundError({ name, known: this.#svc.list(CollaborationPatterns).map(each => each.name) })
  }
}
