import { SchedulerToken } from '#platform/heartbeat/contract'
import { filesInFlight } from './clock.ts'
import type { TestHost } from './test-host.ts'
import { until } from './until.ts'

/** Number of event loop turns in a row without a due or running cycle. */
const CALM_TURNS = 5

/**
 * Runs all due cycles, then one heartbeat, and waits for the cycles that it made due.
 * For a cycle that waits for held time, use `clock.advance` and `until` instead.
 */
export async function runHeartbeat(host: TestHost): Promise<void> {
  await waitUntilIdle(host)
  await host.clock.advance(Number(host.kernel.config.get('daemon.heartbeat')) * 1000)
  await waitUntilIdle(host)
}

/** Waits until no cycle is due or in flight, while time stands still. */
export async function waitUntilIdle({ kernel, clock }: TestHost): Promise<void> {
  const { heartbeat } = kernel
  const now = clock.ms()
  let calm = 0
  let state: object = {}
  heartbeat.hint()
  const idle = until(async () => {
    const due = await kernel.use(SchedulerToken).nextDue()
    const { lastTick, inFlight, fault } = heartbeat
    const files = filesInFlight()
    state = { now, due, lastTick, inFlight, files, fault }
    const busy = lastTick < now || inFlight.length > 0 || (due !== null && due <= now) || files
    calm = busy ? 0 : calm + 1
    return calm >= CALM_TURNS
  })
  await idle.catch(error => {
    throw new Error(`the heartbeat does not come to rest: ${JSON.stringify(state)}`, { cause: error })
  })
}
