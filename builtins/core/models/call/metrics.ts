import type { Metric, Sample } from '#lib/metric'
import type { Governor, GovernorState } from './governor.ts'

const BREAKERS = ['closed', 'open', 'half_open'] as const

/**
 * Metrics of this process's requests to providers: single attempts and their limits. Calls, failovers, tokens and cost
 * outlast the process, so they are counted from events.
 */
export function modelMetrics(governors: () => Iterable<Governor>): Metric[] {
  const each = (samples: (governor: Governor) => Sample[]) => () => [...governors()].flatMap(samples)
  const gauge = (name: string, help: string, of: (state: GovernorState) => number): Metric => ({
    ...{ name, help, type: 'gauge' },
    collect: each(governor => [{ labels: { provider: governor.provider }, value: of(governor.state()) }]),
  })
  return [
    {
      name: 'svc_model_attempts_total',
      help: 'Attempts of this process at model calls, by provider and by how they ended.',
      type: 'counter',
      collect: each(({ provider, measured }) =>
        measured.outcomes().map(([outcome, value]) => ({ labels: { provider, outcome }, value })),
      ),
    },
    {
      name: 'svc_model_attempt_duration_seconds',
      help: 'How long attempts of this process at model calls took, by provider.',
      type: 'histogram',
      collect: each(({ provider, measured }) => [{ labels: { provider }, value: measured.durations() }]),
    },
    {
      name: 'svc_model_breaker',
      help: '1 for the state in which the circuit breaker of a provider is, in this process.',
      type: 'gauge',
      collect: each(governor => {
        const { breaker } = governor.state()
        return BREAKERS.map(state => ({
          labels: { provider: governor.provider, state },
          value: Number(state === breaker),
        }))
      }),
    },
    gauge('svc_model_in_flight', 'Attempts of this process that are under way.', state => state.in_flight),
    gauge('svc_model_waiting', 'Attempts of this process that wait for their turn.', state => state.waiting),
    gauge(
      'svc_model_backoff_seconds',
      'How long a provider that has too much to do is still left in peace.',
      state => state.backing_off_ms / 1000,
    ),
  ]
}
