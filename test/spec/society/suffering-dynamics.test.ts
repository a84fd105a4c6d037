import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Profile } from '#core/profiles/contract'
import { SufferingConfig } from '#society/suffering/config'
import { PERSONA_FIELDS, type PersonaFields } from '#society/suffering/contract'
import { afterOutcome, applyPersona, baseOf, crisisShare, effectiveOf } from '#society/suffering/persona'
import {
  addStressor,
  applyVerdict,
  easeStressor,
  GONE,
  pass,
  type Settings,
  thresholdsOf,
} from '#society/suffering/state/dynamics'
import { circumplex, innerStateOf } from '#society/suffering/state/mood'
import { DEFAULT_HOME, eachField, initialState, loadOf, type PersistedState } from '#society/suffering/state/state'
import { BUILT_IN, DEFAULT_RATE } from '#society/suffering/state/stressors'

const HOUR = 3_600_000
const config = SufferingConfig.parse({})
const settingsOf = (changes: Partial<SufferingConfig> = {}): Settings => {
  const all = { ...config, ...changes }
  const rate = (name: string) => BUILT_IN.find(each => each.name === name)?.rate ?? DEFAULT_RATE
  return { ...all, thresholds: thresholdsOf(all), rate }
}
const settings = settingsOf()
const effectsOf = (name: string) => BUILT_IN.find(each => each.name === name)?.effects ?? {}
const effective = (inner: PersistedState, home: PersonaFields = DEFAULT_HOME) =>
  effectiveOf(inner, home, effectsOf, config)
const under = (severities: Record<string, number>, trend: 'rising' | 'easing' = 'rising'): PersistedState => ({
  ...initialState(),
  stressors: Object.entries(severities).map(([stressor, severity]) => ({
    stressor,
    severity,
    peak: severity,
    trend,
    since: 0,
  })),
})
const severityOf = (inner: PersistedState, name: string) =>
  inner.stressors.find(each => each.stressor === name)?.severity ?? 0

const name = fc.constantFrom(...BUILT_IN.map(each => each.name), 'custom')
const share = fc.double({ min: 0, max: 1, noNaN: true })
const fields = fc.record(Object.fromEntries(PERSONA_FIELDS.map(field => [field, share]))) as fc.Arbitrary<PersonaFields>
const severities = fc.dictionary(name, share, { maxKeys: 5 })
const action = fc.oneof(
  fc.record({ do: fc.constant('raise' as const), name }),
  fc.record({ do: fc.constant('resolve' as const), name }),
  fc.record({ do: fc.constant('add' as const), name, severity: fc.double({ min: -1, max: 3, noNaN: true }) }),
  fc.record({ do: fc.constant('ease' as const), name }),
  fc.record({ do: fc.constant('goal' as const), done: fc.boolean() }),
  fc.record({ do: fc.constant('pass' as const), ms: fc.double({ min: -HOUR, max: 30 * HOUR, noNaN: true }) }),
)
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never

function applyAction(inner: PersistedState, each: Action, home: PersonaFields = DEFAULT_HOME): PersistedState {
  switch (each.do) {
    case 'raise':
    case 'resolve':
      return applyVerdict(inner, each.name, each.do, 0, settings)
    case 'add':
      return addStressor(inner, each.name, each.severity, 0, settings)
    case 'ease':
      return easeStressor(inner, each.name, 0.5)
    case 'goal':
      return afterOutcome(inner, each.done ? 'completed' : 'abandoned', home)
    case 'pass':
      return pass(inner, each.ms, false, settings)
  }
}

describe('suffering dynamics', () => {
  it('stay within their bounds after any sequence of events and any length of time', () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), fields, (actions, home) => {
        let inner = initialState()
        for (const each of actions) {
          inner = applyAction(inner, each, home)
          const numbers = [
            loadOf(inner),
            crisisShare(inner, config),
            ...inner.stressors.flatMap(({ severity, peak }) => [severity, peak]),
            ...Object.values(baseOf(inner, home)),
            ...Object.values(effective(inner, home)),
          ]
          for (const value of numbers) expect(value >= 0 && value <= 1).toBe(true)
          expect(inner.stressors.length).toBeLessThanOrEqual(config.max_stressors)
          expect(new Set(inner.stressors.map(({ stressor }) => stressor)).size).toBe(inner.stressors.length)
          expect(Math.abs(innerStateOf('a', inner, effective(inner, home)).valence)).toBeLessThanOrEqual(1)
          // No hidden excess builds up: the base is exactly the profile's value plus the stored offset.
          for (const field of PERSONA_FIELDS)
            expect(home[field] + inner.offsets[field]).toBeCloseTo(baseOf(inner, home)[field], 12)
        }
      }),
      { numRuns: 150 },
    )
  })

  it('E: a severity rises linearly while its condition holds, and never falls', () => {
    fc.assert(
      fc.property(name, fc.double({ min: 0.02, max: 0.5, noNaN: true }), fc.array(share), (stressor, begin, hours) => {
        let inner = under({ [stressor]: begin })
        let passed = 0
        for (const hour of hours.slice(0, 5)) {
          const before = severityOf(inner, stressor)
          inner = pass(inner, hour * HOUR, false, settings)
          passed += hour
          expect(severityOf(inner, stressor)).toBeGreaterThanOrEqual(before)
        }
        expect(severityOf(inner, stressor)).toBeCloseTo(begin + settings.rate(stressor) * passed, 9)
      }),
    )
  })

  it('S: a raised stressor starts at the initial severity, and raising it again adds nothing', () => {
    const once = applyVerdict(initialState(), 'futility', 'raise', 7, settings)
    expect(once.stressors).toEqual([{ stressor: 'futility', severity: 0.2, peak: 0.2, trend: 'rising', since: 7 }])
    expect(applyVerdict(once, 'futility', 'raise', 8, settings)).toEqual(once)
    // Alternating between easing and rising does not increase the severity.
    let inner = once
    for (let n = 0; n < 50; n++)
      inner = applyVerdict(applyVerdict(inner, 'futility', 'resolve', n, settings), 'futility', 'raise', n, settings)
    expect(severityOf(inner, 'futility')).toBe(0.2)
  })

  it('F: a stressor whose condition is gone fades, and is gone after easing × ln(severity / 0.02) hours', () => {
    fc.assert(
      fc.property(severities, severitiesOf => {
        const inner = under(severitiesOf, 'easing')
        const worst = Math.max(GONE, ...Object.values(severitiesOf))
        const hours = config.easing * Math.log(worst / GONE) + 0.05
        let before = loadOf(inner)
        let next = inner
        for (let n = 0; n < 20; n++) {
          next = pass(next, (hours / 20) * HOUR, false, settings)
          expect(loadOf(next)).toBeLessThanOrEqual(before)
          before = loadOf(next)
        }
        expect(next.stressors).toEqual([])
        expect(next.crisis).toBe(false)
      }),
    )
  })

  it('C and R: a crisis always ends, even while all conditions hold, and none follows immediately', () => {
    fc.assert(
      fc.property(fc.uniqueArray(name, { minLength: 1, maxLength: 5 }), names => {
        let inner = under(Object.fromEntries(names.map(each => [each, 0.9])))
        let since: number | undefined
        let ended: number | undefined
        const lasted: number[] = []
        const between: number[] = []
        for (let hour = 0; hour < 60; hour += 0.02) {
          const was = inner.crisis
          inner = pass(inner, 0.02 * HOUR, false, settings)
          if (!was && inner.crisis) {
            since = hour
            if (ended !== undefined) between.push(hour - ended)
          }
          if (was && !inner.crisis) {
            ended = hour
            lasted.push(hour - since!)
          }
        }
        const longest = config.crisis_relief * Math.log((names.length * 1) / config.threshold_dominant) + 0.1
        expect(lasted.length).toBeGreaterThan(0)
        expect(Math.max(...lasted)).toBeLessThanOrEqual(longest)
        const rate = names.reduce((sum, each) => sum + settings.rate(each), 0)
        const pause = (config.threshold_crisis - config.threshold_dominant) / rate - 0.1
        for (const hours of between) expect(hours).toBeGreaterThanOrEqual(pause)
      }),
      { numRuns: 12 },
    )
  })

  it('C: a crisis begins at its threshold, ends below the next lower one, and its effect on the persona fades out', () => {
    let inner = pass(under({ futility: 0.4499, burnout: 0.4499 }), 0, false, settings)
    expect(inner.crisis).toBe(false)
    inner = pass(inner, 0.005 * HOUR, false, settings)
    expect(inner.crisis).toBe(true)
    const first = effective(inner)
    expect(first.risk_tolerance).toBeCloseTo(0.9, 2)
    expect(first.concentration).toBeCloseTo(0.3, 2)
    let last = crisisShare(inner, config)
    while (inner.crisis) {
      inner = pass(inner, 0.01 * HOUR, false, settings)
      expect(crisisShare(inner, config)).toBeLessThanOrEqual(last)
      last = crisisShare(inner, config)
    }
    expect(loadOf(inner)).toBeGreaterThan(0.7)
    expect(loadOf(inner)).toBeLessThanOrEqual(0.76)
    const calm = { ...inner, crisis: false }
    for (const field of PERSONA_FIELDS) expect(effective(inner)[field]).toBeCloseTo(effective(calm)[field], 2)
  })

  it('P: the effect of a stressor on a persona grows continuously with its severity', () => {
    fc.assert(
      fc.property(fields, name, share, severities, (home, stressor, severity, others) => {
        const at = (value: number) => effective(under({ ...others, [stressor]: value }), home)
        const near = Math.min(1, severity + 0.001)
        for (const field of PERSONA_FIELDS) {
          // At severity 1 a stressor changes a field by at most 0.25, and concentration by 0.25 of its square on top.
          expect(Math.abs(at(near)[field] - at(severity)[field])).toBeLessThanOrEqual(0.001)
          const sign = Math.sign(effectsOf(stressor)[field] ?? (field === 'concentration' ? -1 : 0))
          expect((at(near)[field] - at(severity)[field]) * sign).toBeGreaterThanOrEqual(-1e-12)
        }
      }),
    )
  })

  it('O and B: each goal moves the base by a bounded step, and the base returns with its time constant', () => {
    fc.assert(
      fc.property(fields, fc.array(fc.boolean(), { minLength: 1, maxLength: 80 }), (home, goals) => {
        let inner = initialState()
        for (const completed of goals) {
          const before = baseOf(inner, home)
          inner = afterOutcome(inner, completed ? 'completed' : 'abandoned', home)
          for (const field of PERSONA_FIELDS)
            expect(Math.abs(baseOf(inner, home)[field] - before[field])).toBeLessThanOrEqual(0.1 + 1e-12)
        }
        const far = inner.offsets
        const later = pass(inner, config.persona_return * HOUR, false, settings)
        for (const field of PERSONA_FIELDS) expect(later.offsets[field]).toBeCloseTo(far[field] / Math.E, 9)
        const home_again = pass(inner, 15 * config.persona_return * HOUR, false, settings)
        for (const field of PERSONA_FIELDS) expect(baseOf(home_again, home)[field]).toBeCloseTo(home[field], 5)
      }),
      { numRuns: 50 },
    )
  })

  it('give the same result for half the time at twice the scale, and for time that passes in one piece or several', () => {
    fc.assert(
      fc.property(
        severities,
        fc.double({ min: 0.01, max: 500, noNaN: true }),
        fc.integer({ min: 1, max: 9 }),
        (each, scale, cuts) => {
          const whole = pass(under(each), 3 * HOUR, false, settings)
          const scaled = pass(under(each), (3 * HOUR) / scale, false, settingsOf({ time_scale: scale }))
          for (const [at, row] of whole.stressors.entries())
            expect(scaled.stressors[at]?.severity).toBeCloseTo(row.severity, 6)
          expect(scaled.hours_unheard).toBeCloseTo(whole.hours_unheard, 9)
          let pieces = under(each)
          for (let n = 0; n < cuts; n++) pieces = pass(pieces, (3 * HOUR) / cuts, false, settings)
          for (const [at, row] of whole.stressors.entries())
            expect(pieces.stressors[at]?.severity).toBeCloseTo(row.severity, 6)
          expect(pieces.waking_ms).toBeCloseTo(whole.waking_ms, 3)
        },
      ),
      { numRuns: 60 },
    )
  })

  it('do not change the state when no time passes or time_scale is 0', () => {
    const inner = pass(under({ futility: 0.4 }), 0, false, settings)
    expect(pass(inner, 5 * HOUR, false, settingsOf({ time_scale: 0 }))).toEqual({ ...inner, waking_ms: 5 * HOUR })
    expect(pass(inner, -HOUR, false, settings)).toEqual(inner)
  })
})

describe('effects of suffering on the profile', () => {
  const profile = (more: object = {}) =>
    Profile.parse({ name: 'a', role: 'b', temperature: 0.8, max_steps: 20, persona: {}, ...more })

  it('never raise its step limit, and change steps and temperature only within the stated bounds', () => {
    fc.assert(
      fc.property(fields, fields, fc.integer({ min: 1, max: 100 }), share, (base, felt, max_steps, temperature) => {
        const shaped = applyPersona(profile({ max_steps, temperature }), base, felt, config)
        expect(shaped.max_steps).toBeLessThanOrEqual(max_steps)
        expect(shaped.max_steps).toBeGreaterThanOrEqual(Math.max(1, Math.floor(max_steps * 0.6)))
        expect(shaped.temperature).toBeGreaterThanOrEqual(temperature * 0.5 - 0.005)
        expect(shaped.temperature).toBeLessThanOrEqual(temperature * 1.5 + 0.005)
      }),
    )
  })

  it('are absent when nothing weighs on the agent or the profile has no persona', () => {
    expect(applyPersona(profile(), DEFAULT_HOME, DEFAULT_HOME, config)).toEqual(profile())
    const none = profile({ persona: null })
    expect(
      applyPersona(
        none,
        DEFAULT_HOME,
        eachField(() => 0),
        config,
      ),
    ).toBe(none)
    expect(
      applyPersona(
        profile({ temperature: 0 }),
        DEFAULT_HOME,
        eachField(() => 1),
        config,
      ).temperature,
    ).toBe(0)
  })

  it.each([
    ['overwhelmed', { crisis: true, valence: -0.9, arousal: 1 }],
    ['motivated', { valence: 0.3, arousal: 0.5 }],
    ['content', { valence: 0.3, arousal: 0.49 }],
    ['anxious', { valence: -0.3, arousal: 0.5 }],
    ['discouraged', { valence: -0.3, arousal: 0.2 }],
    ['restless', { valence: 0.29, arousal: 0.5 }],
    ['steady', { valence: -0.29, arousal: 0.1 }],
  ])('M: the mood is %s', (mood, at) => {
    const state = { agent_id: 'a', load: at.arousal, crisis: false, persona: DEFAULT_HOME, ...at }
    expect(circumplex.mood(state)).toBe(mood)
  })
})
