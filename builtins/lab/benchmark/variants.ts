import type { Random } from '#kernel'
import type { Scenario } from './contract.ts'

/** Returns the scenario with its texts filled in from the next unused variant. */
export function variantOf(scenario: Scenario, run: number, random: Random): Scenario {
  const { variants } = scenario
  const first = Math.floor(random.number('benchmark.variant', scenario.name) * variants.length)
  const values = variants[(first + run - 1) % variants.length]!
  return fillIn(scenario, values)
}

function fillIn<T>(value: T, values: Readonly<Record<string, string>>): T {
  if (typeof value === 'string')
    return value.replace(/\{\{(\w+)\}\}/g, (all, key: string) => (Object.hasOwn(values, key) ? values[key]! : all)) as T
  if (Array.isArray(value)) return value.map(each => fillIn(each, values)) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fillIn(each, values)])) as T
}
