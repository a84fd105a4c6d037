import { expect, it, onTestFinished, vi } from 'vitest'
import { Agents } from '#core/agents/contract'
import { Goals } from '#core/goals/contract'
import { Memory } from '#core/memory/contract'
import { ConflictError, defineError, definePlugin, HostToken } from '#kernel'
import { withEarlierNames } from '#lib/earlier-names'
import { Runs } from '#observability/runs/contract'
import { Daemon, Freeze } from '#platform/daemon/contract'
import { Guards } from '#platform/heartbeat/contract'
import { Alarms, Schedules } from '#platform/schedules/contract'
import { Store } from '#platform/store/contract'
import { Budget } from '#safety/budget/contract'
import { Jail, Sandbox } from '#safety/sandbox/contract'
import { Mail } from '#society/a2a/contract'
import { BUILTINS } from '../../../builtins/index.ts'
import { testHost } from '../../support/index.ts'

/** Catches the warnings of a test, which Node would print. */
function catchWarnings() {
  const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => emitWarning.mockRestore())
  return emitWarning
}

it('services support the earlier names of their methods', async () => {
  catchWarnings()
  await using home = await testHost({ builtins: BUILTINS })
  const use = home.kernel.use.bind(home.kernel)
  expect(await use(Freeze).frozen!()).toBe(false)
  expect(await use(Budget).exceeded!()).toBe(false)
  expect(await use(Memory).of('coder-1a2b3c4d').named!('key', 'city')).toBeUndefined()
  const outcome = { agent_id: 'coder-1a2b3c4d', error: null, waiting_for: null }
  expect(use(Agents).fared!(outcome)).toEqual(use(Agents).recordOutcome(outcome))
  await expect(use(Schedules).cancelled!('sched-1', 'coder-1a2b3c4d')).rejects.toMatchObject({
    code: 'schedule_not_found',
  })
  await expect(use(Alarms).cancelled!('alarm-1', 'coder-1a2b3c4d')).rejects.toMatchObject({ code: 'alarm_not_found' })
  expect(await use(Daemon).drives!()).toBe(await use(Daemon).isDriving())
  expect(await use(Store).unchanged!('key', async () => 'read')).toBe('read')
  expect(await use(Store).elsewhere!()).toBe(false)
  expect(await use(Goals).active!('coder-1a2b3c4d')).toEqual([])
  expect(await use(Agents).others!('coder-1a2b3c4d', 1)).toEqual([])
  expect(await use(Mail).unread!('coder-1a2b3c4d', 1)).toEqual([])
  const others = [
    use(Schedules).made,
    use(Alarms).made,
    use(Runs).begun,
    use(Runs).ended,
    use(Runs).begins,
    use(Runs).ends,
    use(Mail).shown,
    use(Store).changed,
    use(Store).overhear,
    use(Sandbox).tell,
    use(Jail).closed,
    use(HostToken).hindrance,
  ]
  expect(others.map(method => typeof method)).toEqual(others.map(() => 'function'))
})

it('the first call by an earlier name warns with the current name', async () => {
  const emitWarning = catchWarnings()
  class Counter {
    #count = 0
    increment(by: number) {
      this.#count += by
      return this.#count
    }
  }
  const counter = withEarlierNames(new Counter(), { counted: 'increment' }) as Counter & {
    counted: Counter['increment']
  }
  expect([counter.counted(2), counter.counted(3)]).toEqual([2, 5])
  expect(emitWarning.mock.calls.map(([message, type]) => [message, type])).toEqual([
    ['`counted` is deprecated: use `increment`.', 'DeprecationWarning'],
  ])
})

it('errors and guards support the earlier names of their fields', async () => {
  const FullError = defineError({
    code: 'full',
    status: 409,
    title: 'Full',
    sentence: (p: { n: number }) => `Full: ${p.n}.`,
  })
  expect(new FullError({ n: 3 }).message).toBe('Full: 3.')
  expect(new ConflictError({ sentence: 'Taken.' }).message).toBe('Taken.')
  await using home = await testHost({ builtins: [] })
  const busy = () => []
  await home.kernel.host.add(
    definePlugin({ name: 'gate', setup: svc => svc.guard('cleanup', { shouldProceed: () => true }, { busy }) }),
  )
  expect(home.kernel.points.list(Guards).map(({ value }) => value.hasWork)).toContain(busy)
})
