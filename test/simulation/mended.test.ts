import { expect, it } from 'vitest'
import { memoryScheduler, runHeartbeat, testHost } from '../support/index.ts'

it('an agent whose cycle end could not be written runs at its next heartbeat, not only when its lease expires', async () => {
  const leases = memoryScheduler(['ada'])
  const commit = leases.commit.bind(leases)
  let failures = 2
  leases.commit = async (...written) => {
    if (failures-- > 0) throw new Error('the disk is full')
    return commit(...written)
  }
  await using home = await testHost({ builtins: [leases.plugin] })
  const ends: string[] = []
  home.kernel.hooks.on('cycle_end', ({ result }) => void ends.push(result), 'test')
  await runHeartbeat(home)
  expect(ends).toEqual(['error', 'idle'])
})
