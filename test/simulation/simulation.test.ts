import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { definePlugin, type PluginDefinition, z } from '#kernel'
import { Invariants } from '#platform/store/contract'
import { tool } from '#tools/toolkits/contract'
import { simulate } from '../support/simulation/simulation.ts'
import { describeFailure } from './simulated-runs.ts'

describe('a simulated run', () => {
  it('is identical for the same seed, byte for byte, after any other run', async () => {
    const first = await simulate({ seed: 7, cycles: 12, faults: 'many' })
    const other = await simulate({ seed: 8, cycles: 12, faults: 'many' })
    const again = await simulate({ seed: 7, cycles: 12, faults: 'many' })
    expect(again.log.join('')).toBe(first.log.join(''))
    expect(first.hash).toBe(createHash('sha256').update(first.log.join('')).digest('hex'))
    expect(again.hash).toBe(first.hash)
    expect(other.hash).not.toBe(first.hash)
  })

  it('includes cycles, model calls, acts of operators, faults and checks of invariants', async () => {
    const run = await simulate({ seed: 3, faults: 'many' })
    expect(describeFailure(run, 'many')).toEqual([])
    expect(run.cycles).toBeGreaterThanOrEqual(30)
    expect(run.model_calls).toBeGreaterThan(5)
    expect(run.acts).toBeGreaterThan(5)
    expect(Object.keys(run.faults).length).toBeGreaterThan(3)
    expect(run.checks).toBeGreaterThan(run.cycles)
  })
})

it('entering a phase while a pending freeze is being written violates no invariant', async () => {
  expect(describeFailure(await simulate({ seed: 114, cycles: 5, faults: 'many' }), 'many', 5)).toEqual([])
})

it("a plugin's tools are called in a simulated run that names its toolkit", async () => {
  let calls = 0
  const book = tool({
    name: 'book',
    description: 'Books a note.',
    parameters: z.object({ note: z.string() }),
    execute({ note }) {
      calls++
      return note
    },
  })
  const ledger = definePlugin({
    name: 'ledger',
    setup: svc => void svc.toolkit({ name: 'ledger', tools: [book] }),
  })
  const project = { toolkits: ['ledger'], tools: ['book'] }
  const { violation, tool_runs } = await simulate({ seed: 1, faults: 'none', plugins: [ledger], project })
  expect(violation).toBeNull()
  expect(calls).toBeGreaterThan(0)
  expect(tool_runs).toBeGreaterThanOrEqual(calls)
})

describe('a broken plugin in a simulated run', () => {
  const runBroken = (setup: PluginDefinition['setup']) =>
    simulate({ seed: 1, cycles: 3, faults: 'none', plugins: [definePlugin({ name: 'broken', setup })] })

  it('is found by the rejected promise that it leaves behind', async () => {
    const { violation } = await runBroken(svc => {
      svc.on('cycle_start', () => void Promise.reject(new Error('loose end')))
    })
    expect(violation).toMatchObject({ invariant: 'caught', found: expect.stringContaining('loose end') })
  })

  it('is found when its invariant cannot be checked', async () => {
    const look = { name: 'ledger_balances', promise: 'Debits and credits are equal.', tables: ['goals'] }
    const { violation } = await runBroken(svc => {
      svc.add(Invariants, {
        ...look,
        broken: ({ get }) => (get('SELECT 1 FROM ledger') ? 'a debit too many' : undefined),
      })
    })
    const found = 'it could not be checked: no such table: ledger'
    expect(violation).toMatchObject({ invariant: look.name, promise: look.promise, found })
  })
})
