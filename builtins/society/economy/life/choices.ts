import { Agents } from '#core/agents/contract'
import { Memory } from '#core/memory/contract'
import { Models } from '#core/models/contract'
import { constantPrompt, moodPrompt, Profiles } from '#core/profiles/contract'
import { errorMessage, type PluginHandle } from '#kernel'
import { Store } from '#platform/store/contract'
import { Budget } from '#safety/budget/contract'
import type { EconomyConfig } from '../config.ts'
import type { LifeEvent } from '../contract.ts'
import { isWorldPaused } from '../economy-beat.ts'
import type { LifeCatalogue } from './catalogue.ts'
import { outcome } from './outcome.ts'
import { choiceIn, lifePrompt } from './prompt.ts'
import {
  eventsToRemember,
  type LifeRow,
  leaveEvent,
  markRemembered,
  Situation,
  takeEvent,
  waitingEvents,
} from './repository.ts'

/** Maximum answer length of a choice: a number, with space for models that think aloud first. */
const MAX_TOKENS = 256
/** Number of calls without an answer after which the first choice is taken. */
const ATTEMPTS = 3
/** Extra time after the longest model call before an event may be asked again, in milliseconds. */
const GRACE_MS = 60_000
const AT_ONCE = 100
/** Error codes that prevent a model call; they do not count as failed attempts. */
const NO_CALL = new Set([
  'budget_exhausted',
  'agent_budget_exhausted',
  'unknown_price',
  'budget_unreadable',
  'daemon_frozen',
])

/** Asks agents' models to choose how they respond to life events: in parallel, and independently of their cycles. */
export class LifeChoices {
  readonly #svc: PluginHandle
  readonly #config: EconomyConfig
  readonly #catalogue: LifeCatalogue
  readonly #asking = new Map<string, Promise<void>>()
  readonly #stop = new AbortController()

  constructor(svc: PluginHandle, config: EconomyConfig, catalogue: LifeCatalogue) {
    this.#svc = svc
    this.#config = config
    this.#catalogue = catalogue
  }

  /** Starts asking for all waiting choices, without waiting for the answers. */
  async ask(): Promise<void> {
    if (this.#stop.signal.aborted || (await isWorldPaused(this.#svc))) return
    const most = Number(this.#svc.config.get('daemon.max_concurrent_agents') ?? 8) - this.#asking.size
    if (most <= 0) return
    for (const row of await waitingEvents(this.#store, this.#svc.clock.ms(), most)) {
      if (this.#asking.has(row.life_event_id)) continue
      const asking = this.#decide(row)
        .catch(error => {
          this.#svc.log.warn(
            { agent_id: row.agent_id },
            `cannot decide a life event; trying again at the next heartbeat: ${errorMessage(error)}`,
          )
          return false
        })
        .then(decided => {
          this.#asking.delete(row.life_event_id)
          // More events may be waiting than could be asked at once. Failed ones wait for the next heartbeat.
          if (decided && this.#asking.size === 0) void this.ask().catch(() => {})
        })
      this.#asking.set(row.life_event_id, asking)
    }
  }

  /** Cancels running model calls; their events stay waiting for the next daemon. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('the daemon is stopping'))
    await Promise.allSettled(this.#asking.values())
  }

  /** Writes decided events to their agents' memories, once each. */
  async remember(): Promise<void> {
    for (const row of await eventsToRemember(this.#store, AT_ONCE)) await this.#remember(row)
  }

  get #store(): Store {
    return this.#svc.use(Store)
  }

  /** @returns whether the event was decided */
  async #decide(row: LifeRow): Promise<boolean> {
    const event = (await this.#catalogue.all()).get(row.event)
    // The event's plugin was removed, so the event has no consequences.
    if (!event) return this.#settle(row, { ...GONE, category: row.category }, 1, 'only')
    if (event.choices.length === 1) return this.#settle(row, event, 1, 'only')
    if (this.#svc.has(Budget) && (await this.#svc.use(Budget).isExceeded())) return false
    const { life_event_id } = row
    const seconds = (key: string) => Number(this.#svc.config.get(`model.${key}`) ?? 0)
    const longest = (seconds('first_byte_timeout') + 2 * seconds('total_timeout')) * 1000
    const until = Math.ceil(this.#svc.clock.ms() + longest + GRACE_MS)
    if (!(await this.#store.apply([takeEvent({ life_event_id, until })]))) return false
    let text: string
    try {
      text = await this.#answer(row, event)
    } catch (error) {
      const failed = !NO_CALL.has((error as { code?: string }).code ?? '') && !this.#stop.signal.aborted
      if (failed && row.attempts + 1 >= ATTEMPTS) return this.#settle(row, event, 1, 'default')
      await this.#store.apply([leaveEvent({ life_event_id, failed })])
      throw error
    }
    const choice = choiceIn(text, event.choices.length)
    return this.#settle(row, event, choice ?? 1, choice === undefined ? 'default' : 'model')
  }

  async #answer(row: LifeRow, event: LifeEvent): Promise<string> {
    const { agent_id } = row
    const agents = this.#svc.use(Agents)
    const agent = await agents.find(agent_id)
    const profile = await agents.profileOf(agent)
    const skills = await this.#svc.use(Profiles).skills(profile)
    const question = lifePrompt(event, Situation.parse(JSON.parse(row.situation)))
    const { text } = await this.#svc.use(Models).call({
      model: agent.model || profile.model || null,
      messages: [
        { role: 'system', content: constantPrompt(profile, skills) },
        { role: 'user', content: [moodPrompt(profile), question].filter(Boolean).join('\n\n') },
      ],
      tools: [],
      temperature: profile.temperature,
      max_tokens: Math.min(profile.max_tokens, MAX_TOKENS),
      parameters: profile.parameters,
      purpose: {
        agent_id,
        goal_id: null,
        cycle_num: agent.cycle_num,
        kind: 'other',
        booked_as: 'life_event',
        root_agent_id: agent.root_agent_id,
      },
      signal: this.#stop.signal,
    })
    return text
  }

  async #settle(row: LifeRow, event: LifeEvent, choice: number, by: 'model' | 'default' | 'only'): Promise<boolean> {
    const effects = await outcome(this.#svc, this.#config, row, event, choice, by)
    if (!(await this.#store.apply(effects))) return false
    await this.remember()
    return true
  }

  async #remember({ life_event_id, agent_id, event, category, summary, beat }: LifeRow): Promise<void> {
    if (this.#svc.has(Memory) && summary) {
      const memory = this.#svc.use(Memory)
      const metadata = { kind: 'life_event', event, category, beat }
      await memory
        .of(agent_id)
        .store(summary, metadata, memory.idOf(life_event_id))
        .catch(error =>
          this.#svc.log.info({ agent_id }, `cannot store the memory of a life event: ${errorMessage(error)}`),
        )
    }
    await this.#store.apply([markRemembered({ life_event_id })])
  }
}

/** Placeholder for an event whose plugin was removed. */
const GONE = {
  id: 'gone',
  text: 'The expected event did not take place.',
  follow_up_only: true,
  min_cycles: 0,
  requires: {},
  choices: [{ label: 'Continue' }],
}
