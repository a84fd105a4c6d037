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
    name,
    help,
    type: 'gauge',
    collect: each(governor => [{ labels: { provider: governor.provider }, value: of(governor.state()) }]),
  })
  return [
    {
      name: 'svc_model_attempts_total',
      help: 'Model call attempts of this process, by provider and outcome.',
      type: 'counter',
      collect: each(({ provider, measured }) =>
        measured.outcomes().map(([outcome, value]) => ({ labels: { provider, outcome }, value })),
      ),
    },
    {
      name: 'svc_model_attempt_duration_seconds',
      help: 'Duration of model call attempts of this process, by provider.',
      type: 'histogram',
      collect: each(({ provider, measured }) => [{ labels: { provider }, value: measured.durations() }]),
    },
    {
      name: 'svc_model_breaker',
      help: '1 for the current state of the circuit breaker of a provider, in this process.',
      type: 'gauge',
      collect: each(governor => {
        const { breaker } = governor.state()
        return BREAKERS.map(state => ({
          labels: { provider: governor.provider, state },
          value: Number(state === breaker),
        }))
      }),
    },
    gauge('svc_model_in_flight', 'Model call attempts of this process that are in progress.', state => state.in_flight),
    gauge('svc_model_waiting', 'Model call attempts of this process that wait for their turn.', state => state.waiting),
    gauge(
      'svc_model_backoff_seconds',
      'Time until an overloaded provider is called again.',
      state => state.backing_off_ms / 1000,
    ),
  ]
}
