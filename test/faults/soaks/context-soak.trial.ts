import { expect, it } from 'vitest'
import { contextSoak } from './context-soak.ts'

it('agents with a window of 8k keep their goals, orders and facts while the service is stopped and killed', async () => {
  const { refused, lost, compactions, kills, requests, summaries } = await contextSoak({ goals: 20 })
  expect(refused).toEqual([])
  expect(lost).toEqual([])
  expect(compactions).toBeGreaterThan(20)
  expect(kills).toBeGreaterThan(1)
  expect(summaries).toBeGreaterThan(5)
  expect(requests).toBeGreaterThan(200)
})
