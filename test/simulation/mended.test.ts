import { expect, it } from 'vitest'
import { memoryScheduler, runHeartbeat, testHost } from '../support/index.ts'

it('an agent whose cycle could not be written to its end goes on at its next heartbeat, and not when its lease runs out', async () => {
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
