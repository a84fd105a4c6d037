import { expect, it } from 'vitest'
import { Agents } from '#core/agents/contract'
import { Memory } from '#core/memory/contract'
import { ConflictError, defineError, definePlugin } from '#kernel'
import { withEarlierNames } from '#lib/earlier-names'
import { Runs } from '#observability/runs/contract'
import { Freeze } from '#platform/daemon/contract'
import { Guards } from '#platform/heartbeat/contract'
import { Alarms, Schedules } from '#platform/schedules/contract'
import { Budget } from '#safety/budget/contract'
import { Mail } from '#society/a2a/contract'
import { BUILTINS } from '../../../builtins/index.ts'
import { testHost } from '../../support/index.ts'

it('services answer to the earlier names of their methods', async () => {
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
  const others = [use(Schedules).made, use(Alarms).made, use(Runs).begun, use(Runs).ended, use(Mail).shown]
  expect(others.map(method => typeof method)).toEqual(others.map(() => 'function'))
})

it('the first call by an earlier name warns, with the present one', async () => {
  const warned = new Promise<Error>(resolve => process.once('warning', resolve))
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
  expect(await warned).toMatchObject({
    name: 'DeprecationWarning',
    message: '`counted` is deprecated: use `increment`.',
  })
})

it('errors and guards take the earlier names of their fields', async () => {
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
