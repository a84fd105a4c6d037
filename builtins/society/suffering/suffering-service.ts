import { type AgentRow, Agents, type NewAgent, ProfileShapes, shapeProfile } from '#core/agents/contract'
import { type Profile, Profiles } from '#core/profiles/contract'
import { type Effect, type PluginHandle, parse, token } from '#kernel'
import type { Cycle } from '#platform/heartbeat/contract'
import { appendEvent, isoTime, Store } from '#platform/store/contract'
import type { SufferingConfig } from './config.ts'
import {
  PERSONA_FIELDS,
  type PersonaFields,
  StressorAdded,
  StressorEased,
  Stressors,
  type Suffering,
  type SufferingState,
} from './contract.ts'
import { applyEvents, budgetLeft, factsOf, runStressors } from './facts.ts'
import { applyPersona, baseOf, effectiveOf, homeOf } from './persona.ts'
import { findLife, findSituation, recordCycle, recordMoment, type SituationRow } from './repository.ts'
import { msUntilChange, pass, type Settings, thresholdsOf } from './state/dynamics.ts'
import { innerStateOf, moodOf } from './state/mood.ts'
import { eachField, initialState, loadOf, type PersistedState, type ReportedState } from './state/state.ts'
import { DEFAULT_RATE } from './state/stressors.ts'

/** Minimum change of the load or of a persona field that is reported, and minimum time between two reports. */
const WORTH_TELLING = 0.02
const LEAST_MS = 60_000

/** An agent's suffering and persona: profile values, base, and effective values. */
interface CurrentState {
  state: SufferingState
  home: PersonaFields
  base: PersonaFields
  persona: PersonaFields
}

/** An agent's state during its running cycle. */
interface CycleState {
  situation: SituationRow
  inner: PersistedState
  home: PersonaFields
  seq: number
  heard_at: number
  /** Monotonic time from which the cycle's own time counts. */
  began: number
}
const CycleState = token<CycleState>('inner_life')

export const OwnSuffering = token<SufferingService>('suffering/suffering')

/** Updates the inner state of this process's agents in their cycles, and reads that of any agent. */
export class SufferingService implements Suffering {
  readonly #svc: PluginHandle
  readonly #config: SufferingConfig
  /**
   * Agents whose cycle runs in this process; their state is newer than the stored row. All reads within one cycle get
   * the same state.
   */
  readonly #living = new Map<string, { cycle_num: number; inner: PersistedState; look: CurrentState }>()

  constructor(svc: PluginHandle, config: SufferingConfig) {
    this.#svc = svc
    this.#config = config
  }

  /** `suffering_escalation`: applies new events, runs stressors, and advances the time since the last cycle. */
  async escalate(cycle: Cycle): Promise<void> {
    const svc = this.#svc
    const life = await findLife(svc.use(Store), cycle.agent_id)
    if (!life) return
    const { situation, events } = life
    const profile = await this.#unshapedProfile(situation, 'beat')
    const home = homeOf(profile)
    const before = situation.inner ?? (await this.#newInner(situation.agent_id, home))
    const applied = await applyEvents(svc, situation, before, events, home, this.#settings)
    const { seq, heard_at } = applied
    // An agent without goals of its own lacks nothing while it waits for one.
    const inner = profile.own_goals ? applied.inner : { ...applied.inner, hours_without_goal: 0 }
    const facts = factsOf(situation, inner, heard_at, await budgetLeft(svc))
    const judged = await runStressors(svc, inner, facts, this.#settings)
    const next = pass(judged, this.#restSince(situation), situation.busy === 1, this.#settings)
    const look = await this.#lookAt(situation.agent_id, next, home)
    this.#living.set(situation.agent_id, { cycle_num: cycle.cycle_num, inner: next, look })
    cycle.set(CycleState, { situation, inner: next, home, seq, heard_at, began: svc.clock.monotonic() })
  }

  /** `cleanup`: adds the cycle's own duration, and reports changes in its commit. */
  async save(cycle: Cycle): Promise<void> {
    const living = cycle.get(CycleState)
    if (!living) return
    const { situation, home, began } = living
    const took = this.#svc.clock.monotonic() - began
    const inner = pass(living.inner, took, situation.busy === 1, this.#settings)
    const persona = this.#effective(inner, home)
    const state = await this.#stateOf(situation.agent_id, inner, persona)
    const reported: ReportedState = {
      key: keyOf(state),
      load: state.load,
      persona: { ...persona },
      at: this.#svc.clock.ms(),
    }
    const isNews = inner.told !== null && isWorthTelling(inner.told, reported)
    if (isNews)
      cycle.effects.push(...this.#changeEvents(situation.agent_id, inner.told!, state, persona, baseOf(inner, home)))
    cycle.set(CycleState, { ...living, inner: isNews || inner.told === null ? { ...inner, told: reported } : inner })
  }

  /** Adds the state write to the cycle, as its last write. This alone is no reason to run a cycle. */
  write(cycle: Cycle): void {
    const living = cycle.get(CycleState)
    if (!living) return
    const { situation, inner, seq, heard_at } = living
    const { agent_id, version, passed } = situation
    const still_ms = msUntilChange(inner, this.#settings)
    cycle.effects.push(recordCycle({ agent_id, version, seq, heard_at, passed, still_ms, inner }))
  }

  /** Ends a cycle: the stored row is current again. Does nothing when a newer cycle of the agent has begun. */
  endCycle({ agent_id, cycle_num }: { agent_id: string; cycle_num: number }): void {
    if (this.#living.get(agent_id)?.cycle_num === cycle_num) this.#living.delete(agent_id)
  }

  add(agent_id: string, stressor: string, { severity, note = '' }: { severity?: number; note?: string } = {}): Effect {
    const data = { agent_id, stressor, severity: severity ?? null, note }
    return appendEvent({ type: 'stressor_added', agent_id, data: parse(StressorAdded, data, 'The stressor') })
  }

  resolve(agent_id: string, stressor: string, { note = '' }: { note?: string } = {}): Effect {
    const data = { agent_id, stressor, note }
    return appendEvent({ type: 'stressor_eased', agent_id, data: parse(StressorEased, data, 'The stressor') })
  }

  async state(agent: AgentRow): Promise<SufferingState> {
    return (await this.look(agent)).state
  }

  async look(agent: AgentRow): Promise<CurrentState> {
    const { agent_id } = agent
    const living = this.#living.get(agent_id)
    return (
      living?.look ?? this.#lookAt(agent_id, await this.#innerOf(agent_id), homeOf(await this.#unshapedProfile(agent)))
    )
  }

  /** Returns the agent's profile adjusted by its current state. */
  shape({ agent_id }: NewAgent, profile: Profile): Profile | Promise<Profile> {
    return this.#config.enabled && profile.persona ? this.#shape(agent_id, profile) : profile
  }

  async #shape(agent_id: string, profile: Profile): Promise<Profile> {
    const home = homeOf(profile)
    const inner = await this.#innerOf(agent_id)
    return applyPersona(profile, baseOf(inner, home), this.#effective(inner, home), this.#config)
  }

  /** Returns the current persona with base and effective values; null when the profile has no persona. */
  async personaOf(agent: AgentRow): Promise<Record<string, unknown> | null> {
    const profile = await this.#svc
      .use(Agents)
      .profileOf(agent)
      .catch(() => null)
    if (!profile?.persona) return null
    const { base } = await this.look(agent)
    return { ...profile.persona, personality: profile.personality, base }
  }

  async #lookAt(agent_id: string, inner: PersistedState, home: PersonaFields): Promise<CurrentState> {
    const persona = this.#effective(inner, home)
    const [base, felt] = [roundedFields(baseOf(inner, home)), roundedFields(persona)]
    return { state: await this.#stateOf(agent_id, inner, persona), home, base, persona: felt }
  }

  get #settings(): Settings {
    const { escalation_rates } = this.#config
    return {
      ...this.#config,
      thresholds: thresholdsOf(this.#config),
      rate: stressor => escalation_rates[stressor] ?? this.#svc.find(Stressors, stressor)?.rate ?? DEFAULT_RATE,
    }
  }

  /**
   * Returns the hours since the last update, at most one heartbeat per cycle: an agent that was paused, frozen or not
   * driven was not awake.
   */
  #restSince({ version, at, passed, passed_before }: SituationRow): number {
    if (version === 0) return 0
    const heartbeat = Number(this.#svc.config.get('daemon.heartbeat')) * 1000
    return Math.min(Math.max(0, this.#svc.clock.ms() - at), heartbeat * (1 + passed - passed_before))
  }

  /** Returns the state of an agent without events, from which changes are reported. */
  async #newInner(agent_id: string, home: PersonaFields): Promise<PersistedState> {
    const inner = initialState()
    const state = await this.#stateOf(agent_id, inner, home)
    const reported = { key: keyOf(state), load: 0, persona: { ...home }, at: this.#svc.clock.ms() }
    return { ...inner, told: reported }
  }

  async #innerOf(agent_id: string): Promise<PersistedState> {
    return (
      this.#living.get(agent_id)?.inner ??
      (await findSituation(this.#svc.use(Store), agent_id))?.inner ??
      initialState()
    )
  }

  /** Returns the profile before this module changes it. A broken or missing profile does not stop the cycle. */
  async #unshapedProfile(agent: NewAgent, when?: 'beat'): Promise<Pick<Profile, 'persona' | 'own_goals'>> {
    try {
      const others = this.#svc.list(ProfileShapes).filter(({ name }) => name !== this.#svc.name)
      return await shapeProfile(others, agent, await this.#svc.use(Profiles).get(agent.preset, when))
    } catch {
      return { persona: null, own_goals: true }
    }
  }

  #effective(inner: PersistedState, home: PersonaFields): PersonaFields {
    return effectiveOf(inner, home, stressor => this.#svc.find(Stressors, stressor)?.effects ?? {}, this.#config)
  }

  async #stateOf(agent_id: string, inner: PersistedState, persona: PersonaFields): Promise<SufferingState> {
    const load = loadOf(inner)
    return {
      load: round(load),
      crisis: inner.crisis,
      level: this.#levelOf(inner.crisis, load),
      mood: await moodOf(this.#svc, innerStateOf(agent_id, inner, persona)),
      stressors: inner.stressors.map(({ stressor, severity, peak, trend, since }) => ({
        stressor,
        severity: round(severity),
        peak_severity: round(peak),
        trend,
        since: isoTime(since),
        condition: this.#svc.find(Stressors, stressor)?.condition ?? 'its cause ends',
      })),
      waking_hours: round(inner.waking_ms / 3_600_000),
    }
  }

  #levelOf(crisis: boolean, load: number): SufferingState['level'] {
    if (crisis) return 'crisis'
    const [prominent, constrained, dominant] = thresholdsOf(this.#config)
    if (load >= dominant) return 'dominant'
    if (load >= constrained) return 'constrained'
    return load >= prominent ? 'prominent' : 'calm'
  }

  #changeEvents(
    agent_id: string,
    before: ReportedState,
    state: SufferingState,
    persona: PersonaFields,
    base: PersonaFields,
  ): Effect[] {
    const changes = changesBetween(before.key, keyOf(state))
    const severities = Object.fromEntries(state.stressors.map(({ stressor, severity }) => [stressor, severity]))
    const { load, crisis, mood } = state
    const moment = {
      agent_id,
      load,
      crisis,
      mood,
      severities,
      persona: roundedFields(persona),
      base: roundedFields(base),
    }
    const suffering_state = { ...state, persona: roundedFields(persona), changes }
    return [
      recordMoment(moment),
      appendEvent({ type: 'suffering_changed', agent_id, data: { agent_id, suffering_state } }),
    ]
  }
}

/** Returns the values whose every change is reported: stressors with their trends, the level and the mood. */
function keyOf({ stressors, level, mood }: SufferingState): string {
  const marks = stressors.map(({ stressor, trend }) => `${trend} ${stressor}`).sort()
  return [`level ${level}`, `mood ${mood}`, ...marks].join('\n')
}

function changesBetween(before: string, after: string): string[] {
  const had = before.split('\n')
  const gone = had.filter(line => /^(rising|easing) /.test(line) && !after.includes(line.split(' ')[1]!))
  const come = after.split('\n').filter(line => !had.includes(line))
  return [...come, ...gone.map(line => `resolved ${line.split(' ')[1]}`)]
}

function isWorthTelling(before: ReportedState, after: ReportedState): boolean {
  if (before.key !== after.key) return true
  if (after.at - before.at < LEAST_MS && after.at >= before.at) return false
  const moved = PERSONA_FIELDS.some(field => Math.abs(before.persona[field] - after.persona[field]) >= WORTH_TELLING)
  return moved || Math.abs(before.load - after.load) >= WORTH_TELLING
}

function round(value: number): number {
  return Math.round(value * 10_000) / 10_000
}

function roundedFields(fields: PersonaFields): PersonaFields {
  return eachField(field => round(fields[field]))
}
