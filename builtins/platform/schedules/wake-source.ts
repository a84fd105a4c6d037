import { errorMessage, type PluginHandle } from '#kernel'
import { sleepToRound, untilRound } from '#lib/poller'
import type { WakeSource } from '#platform/heartbeat/contract'
import { Store } from '#platform/store/contract'
import { ringAlarms } from './alarms.ts'
import type { SchedulesConfig } from './config.ts'
import { nextDueTime } from './repository.ts'
import { settleTimes } from './slots.ts'

/** Interval of the check for schedules of other processes and for clock changes, in milliseconds. */
const LOOK_MS = 1_000

/**
 * Makes schedules and alarms due by time, in the process that runs the heartbeat. The wake source never resolves: each
 * slot wakes its agent in its own transaction.
 */
export function scheduleWakeSource(svc: PluginHandle, config: SchedulesConfig): WakeSource & { checkNow(): void } {
  let pause = new AbortController()
  let seen = ''
  const round = async (signal: AbortSignal) => {
    pause = new AbortController()
    const { clock } = svc
    const store = svc.use(Store)
    const waits = (await nextDueTime(store)) !== null
    const more = waits && [await ringAlarms(svc), await settleTimes(svc, config)].includes(true)
    const at = more ? clock.ms() : waits ? await nextDueTime(store) : null
    if (signal.aborted) return
    if (at === null) {
      seen = await store.waitForChange(seen, pause.signal)
      return
    }
    const left = more ? 0 : at - clock.ms()
    // Due slots that are blocked are checked again at the usual interval.
    if (more || (left > 0 && left < untilRound(clock, LOOK_MS))) await clock.sleep(left, pause.signal)
    else await sleepToRound(clock, LOOK_MS, pause.signal)
  }
  return {
    name: 'schedules',
    checkNow: () => pause.abort(),
    async wait(signal) {
      signal.addEventListener('abort', () => pause.abort(), { once: true })
      while (!signal.aborted) {
        await round(signal).catch(error => {
          svc.log.warn({}, `schedules could not be checked and are checked again in a second: ${errorMessage(error)}`)
          return svc.clock.sleep(LOOK_MS, signal)
        })
      }
      throw signal.reason
    },
  }
}
