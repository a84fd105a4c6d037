import type { Effect, PluginHandle, Random } from '#kernel'
import { Store } from '#platform/store/contract'
import type { EconomyConfig } from '../config.ts'
import { creditsOf, type LifeEvent, STATS } from '../contract.ts'
import { betterJob, jobOf } from '../jobs.ts'
import { type CitizenRow, skillsOf } from '../repository.ts'
import type { Catalogue, LifeCatalogue } from './catalogue.ts'
import { dropFollowUps, dueFollowUps, type FollowUp, happen, recentEvents, waitingAgents } from './repository.ts'

/** Number of an agent's latest events that are avoided, so that they do not repeat at once. */
const RECENT = 20

/** An agent that an event may happen to. */
export interface Candidate {
  citizen: CitizenRow
  /** The agent's latest events, newest first. */
  recent: readonly string[]
  /** Follow-ups of the agent's earlier choices that are due. */
  due: readonly FollowUp[]
  /** Whether a better-paid job that the agent qualifies for is free. */
  better_job: boolean
}

export interface RolledEvent {
  event: LifeEvent
  follow_up: FollowUp | undefined
}

/**
 * Returns the event that happens to an agent in a heartbeat: a due follow-up first, otherwise with a given probability
 * one of the eligible events. Recent events are excluded, at most half of the eligible ones, so that some always
 * remain.
 */
export function roll(
  { citizen, recent, due, better_job }: Candidate,
  catalogue: Catalogue,
  beat: number,
  chance: number,
  random: Random,
): RolledEvent | undefined {
  for (const follow_up of due) {
    const event = catalogue.get(follow_up.event)
    if (event) return { event, follow_up }
  }
  const { agent_id } = citizen
  if (!isChosen(random, agent_id, beat, chance)) return undefined
  const fitting = [...catalogue.values()]
    .filter(event => isEligible(event, citizen, better_job))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
  const tired = new Set(
    [...new Set(recent)].filter(id => fitting.some(event => event.id === id)).slice(0, fitting.length >> 1),
  )
  const fresh = fitting.filter(({ id }) => !tired.has(id))
  const event = fresh[Math.floor(random.number('life.event', agent_id, beat) * fresh.length)]
  return event && { event, follow_up: undefined }
}

/** Returns whether a random event happens to an agent in this heartbeat. */
function isChosen(random: Random, agent_id: string, beat: number, chance: number): boolean {
  return random.number('life.roll', agent_id, beat) < chance
}

function isEligible(
  { follow_up_only, min_cycles, requires }: LifeEvent,
  citizen: CitizenRow,
  better_job: boolean,
): boolean {
  if (follow_up_only || citizen.cycles_alive < min_cycles) return false
  if (requires.employed !== undefined && requires.employed !== (citizen.job_id !== null)) return false
  if (requires.better_job !== undefined && requires.better_job !== better_job) return false
  const values = {
    ...Object.fromEntries(STATS.map(stat => [stat, citizen[stat] / 1000])),
    balance: creditsOf(citizen.balance),
  }
  return Object.entries(values).every(([name, value]) => {
    const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = requires[name as 'balance'] ?? {}
    return value >= min && value <= max
  })
}

/** Returns the writes of a heartbeat's events, for the commit of the heartbeat. */
export async function rollEvents(
  svc: PluginHandle,
  config: EconomyConfig,
  catalogue: LifeCatalogue,
  citizens: readonly CitizenRow[],
  beat: number,
): Promise<Effect[]> {
  if (!config.life_events || citizens.length === 0) return []
  const store = svc.use(Store)
  const { random } = svc.ports
  const events = await catalogue.all()
  const [waiting, recent, due] = [
    await waitingAgents(store),
    await recentEvents(store, RECENT),
    await dueFollowUps(store, beat),
  ]
  const effects: Effect[] = []
  for (const citizen of citizens) {
    const { agent_id } = citizen
    const mine = due.get(agent_id) ?? []
    if (waiting.has(agent_id) || (mine.length === 0 && !isChosen(random, agent_id, beat, config.life_event_chance)))
      continue
    const salary = jobOf(svc, citizen.job_id)?.salary ?? 0
    const better_job = (await betterJob(svc, store, await skillsOf(store, agent_id), salary)) !== undefined
    const candidate = { citizen, recent: recent.get(agent_id) ?? [], due: mine, better_job }
    const found = roll(candidate, events, beat, config.life_event_chance, random)
    const unknown = mine.filter(({ event }) => !events.has(event)).map(({ follow_up_id }) => follow_up_id)
    if (unknown.length > 0) effects.push(dropFollowUps({ follow_up_ids: unknown }))
    if (found) effects.push(eventEffect(svc, citizen, found, beat))
  }
  return effects
}

function eventEffect(svc: PluginHandle, citizen: CitizenRow, { event, follow_up }: RolledEvent, beat: number): Effect {
  const { agent_id, balance, happiness, health, reputation, energy } = citizen
  return happen({
    life_event_id: `life:${beat}:${agent_id}`,
    agent_id,
    beat,
    event: event.id,
    category: event.category,
    origin: follow_up ? 'follow_up' : 'random',
    follow_up_id: follow_up?.follow_up_id ?? null,
    situation: { balance, happiness, health, reputation, energy, job: jobOf(svc, citizen.job_id)?.title ?? null },
  })
}
