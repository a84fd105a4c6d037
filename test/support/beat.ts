import { SchedulerToken } from '#platform/heartbeat/contract'
import { filesInFlight } from './clock.ts'
import type { House } from './house.ts'
import { until } from './until.ts'

/** For so many turns of the event loop in a row nothing must be due or in flight. */
const CALM_TURNS = 5

/**
 * Lets every cycle that is due come to its end, then one heartbeat pass, and waits for the cycles that it made due.
 * A cycle that itself waits for held time never ends in it: use `clock.advance` and `until` for those.
 */
export async function beat(house: House): Promise<void> {
  await settled(house)
  await house.clock.advance(Number(house.kernel.config.get('daemon.heartbeat')) * 1000)
  await settled(house)
}

/** Waits until no cycle is due or in flight, while time stands still. */
export async function settled({ kernel, clock }: House): Promise<void> {
  const { heartbeat } = kernel
  const now = clock.ms()
  let calm = 0
  heartbeat.hint()
  await until(async () => {
    const due = await kernel.use(SchedulerToken).nextDue()
    const driven = heartbeat.lastTick < now || heartbeat.inFlight.length > 0 || (due !== null && due <= now)
    const busy = driven || filesInFlight()
    calm = busy ? 0 : calm + 1
    return calm >= CALM_TURNS
  })
}
