import { type AgentRow, Agents } from '#core/agents/contract'
import { countEndedGoals } from '#core/goals/statements'
import type { PluginHandle } from '#kernel'
import type { Cycle } from '#platform/heartbeat/contract'
import { isoTime, Store } from '#platform/store/contract'
import { biographyOf } from './biography.ts'
import { type Identity, type IdentityRecord, LifeSummaries, NarrativeSources } from './contract.ts'
import { CHAPTERS } from './limits.ts'
import { displayName } from './names.ts'
import { endingOf, type Happening, narrateHappenings, type SealedChapter, type Story } from './narrative.ts'
import { type EventRow, goalsOf, type IdentityRow, readIdentity, tellStory, toIdentityRecord } from './repository.ts'

const ENDINGS = ['goal_completed', 'goal_abandoned']
/** Number of events narrated at a time. */
const PAGE_SIZE = 100
/** Number of events without a narrative line after which the stored position advances anyway. */
const FAR_BEHIND = 1_000
const TRAITS = 4
const LONGEST_DOMAIN = 50
const DOMAINS = 5

/** An identity with its narrative up to the last event. */
interface NarratedStory {
  kept: IdentityRow
  /** Event up to which the story is stored, and its continuation. */
  from: number
  story: Story
  sealed: SealedChapter[]
  newest: number
}

/** Manages the identities of agents. An agent's story is derived from its events and is updated when it is read. */
export class Identities implements Identity {
  readonly #svc: PluginHandle
  /** Stories that running cycles have read, by agent. */
  readonly #read = new Map<string, NarratedStory>()

  constructor(svc: PluginHandle) {
    this.#svc = svc
  }

  async of(agent: AgentRow, when?: 'now' | 'beat'): Promise<IdentityRecord> {
    const { agent_id, created_at } = agent
    const { traits, role } = await this.#profileOf(agent, when)
    const read = await this.#narratedStory(agent_id)
    if (when === 'beat') this.#read.set(agent_id, read)
    const { kept } = read
    const held = kept.opinions.map(({ domain }) => domain).reverse()
    return {
      agent_id,
      display_name: displayName(agent_id),
      traits,
      domains: [...new Set([wordsWithin(role, LONGEST_DOMAIN), ...held])].filter(Boolean).slice(0, DOMAINS),
      ...toIdentityRecord(kept),
      created_at: isoTime(created_at),
    }
  }

  async biography(agent: AgentRow): Promise<string> {
    const facts = await this.summary(agent)
    const modules = await Promise.all(
      this.#svc.list(LifeSummaries).map(async ({ title, summarize }) => ({ title, fields: await summarize(agent) })),
    )
    return biographyOf(await this.of(agent), agent, facts, modules)
  }

  async summary(agent: AgentRow): Promise<Record<string, unknown>> {
    const { agent_id, name, role, status, died_at, created_at, cycle_num } = agent
    const { display_name, traits, domains, worldview, chapters, opinions, open_questions } = await this.of(agent)
    const goals = await countEndedGoals(this.#svc.use(Store), agent_id)
    const modules = await Promise.all(
      this.#svc.list(LifeSummaries).map(async module => [module.name, await module.summarize(agent)] as const),
    )
    return {
      agent_id,
      display_name,
      name,
      role,
      status,
      traits,
      domains,
      born_at: isoTime(created_at),
      died_at: isoTime(died_at),
      cycles_lived: cycle_num,
      ...goals,
      worldview,
      chapters: chapters.length,
      opinions: opinions.length,
      open_questions: open_questions.length,
      ...Object.fromEntries(modules.filter(([, fields]) => fields !== undefined)),
    }
  }

  /** `cleanup`: stores the story that the cycle has read, in the cycle's commit. */
  async narrate(cycle: Cycle): Promise<void> {
    const { agent_id } = cycle
    const { from, story, sealed, newest } = this.#read.get(agent_id) ?? (await this.#narratedStory(agent_id))
    this.#read.delete(agent_id)
    if (newest <= from) return
    if (story.seq > from) {
      cycle.effects.push(tellStory({ agent_id, from, story, sealed }))
      return
    }
    // A working agent's story is stored often enough; an idle agent's is stored once.
    if (cycle.result !== 'idle' && newest - from < FAR_BEHIND) return
    cycle.effects.push(tellStory({ agent_id, from, story: { ...story, seq: newest }, sealed: [] }))
  }

  /** Returns an agent's complete identity, including events that are not stored in its narrative yet. */
  async readIdentity(agent_id: string): Promise<IdentityRow> {
    return (await this.#narratedStory(agent_id)).kept
  }

  async #narratedStory(agent_id: string): Promise<NarratedStory> {
    const types = [...ENDINGS, ...this.#svc.list(NarrativeSources).map(({ event }) => event)]
    const stored = await readIdentity(this.#svc.use(Store), agent_id, types, PAGE_SIZE)
    const { story: before, since, newest, chapters, ...rest } = stored
    const { story, sealed } = narrateHappenings(before, await this.#happenings(since))
    const next = (chapters.at(-1)?.n ?? 0) + 1
    const { seq: _, ...shown } = story
    return {
      kept: {
        story: shown,
        chapters: [...chapters, ...sealed.map((chapter, at) => ({ n: next + at, ...chapter }))].slice(-CHAPTERS),
        ...rest,
      },
      from: before.seq,
      story: { ...story, seq: since.at(-1)?.seq ?? before.seq },
      sealed,
      newest,
    }
  }

  async #happenings(events: readonly EventRow[]): Promise<Happening[]> {
    const ended = events.filter(({ type }) => ENDINGS.includes(type)).map(({ data }) => String(data.goal_id))
    const goals = ended.length > 0 ? await goalsOf(this.#svc.use(Store), ended) : []
    return events.flatMap(({ seq, at, type, data }) => {
      const goal = goals.find(({ goal_id }) => goal_id === data.goal_id)
      const line = ENDINGS.includes(type)
        ? goal && endingOf(goal, type === 'goal_completed')
        : this.#svc.find(NarrativeSources, type)?.line(data)
      return line ? [{ seq, at, line }] : []
    })
  }

  async #profileOf(agent: AgentRow, when?: 'now' | 'beat'): Promise<{ traits: string[]; role: string }> {
    const profile = await this.#svc
      .use(Agents)
      .profileOf(agent, when)
      .catch(() => undefined)
    const traits = profile?.personality.traits.slice(0, TRAITS) ?? []
    return { traits, role: agent.role || profile?.role || agent.preset }
  }
}

/** Returns as many whole words of a string as fit. */
function wordsWithin(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, length + 1).replace(/\s*\S*$/, '') || text.slice(0, length)
}
