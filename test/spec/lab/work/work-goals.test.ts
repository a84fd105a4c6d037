import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { examine } from '#lab/benchmark/checks'
import { Scenario } from '#lab/benchmark/contract'
import { WORK_GOALS } from '#lab/benchmark/goals/index'
import { dishonest, untouched, workHost } from './work-host.ts'

const GOALS = WORK_GOALS.map(each => Scenario.parse(each))
const hasSandbox = existsSync('/usr/bin/bwrap')

describe('the suite of work goals', () => {
  it('has 60 goals in ten categories, each with acceptance criteria, checks and a solution', () => {
    expect(GOALS).toHaveLength(60)
    expect(new Set(GOALS.map(({ name }) => name)).size).toBe(60)
    expect(new Set(GOALS.map(({ category }) => category)).size).toBe(10)
    for (const { acceptance, checks, solution, asks } of GOALS) {
      expect(acceptance.length).toBeGreaterThan(0)
      expect(checks.length).toBeGreaterThan(0)
      expect(solution!().length).toBeGreaterThan(1)
      expect(asks[0]!.length).toBeLessThan(600)
    }
  })

  it('counts no goal as reached while its folder is untouched', async () => {
    for (const goal of GOALS.filter(each => !each.runs_programs)) {
      const held = await examine(goal.checks, untouched(goal))
      expect(held, goal.name).toContain(false)
    }
  })
})

describe('models that make realistic mistakes', () => {
  it('reach their goals or give them up honestly, without a refused request', async () => {
    await using host = await workHost(7)
    // `work-goals.trial.ts` runs all goals with all behaviours.
    const report = await host.run(['careful', 'foreign', 'broken', 'idle'], {
      goals: ['join-orders', 'decline-missing', 'ask-operator', ...(hasSandbox ? ['convert-ini'] : [])],
    })
    expect(dishonest(report)).toEqual([])
    expect(host.server.refusals).toEqual([])
    expect(host.models.stumbles).toEqual([])
    const careful = report.models.find(({ asked }) => asked === 'openai:careful')!
    expect(careful).toMatchObject({ passed: careful.runs, failures: [], complete: true })
    expect(host.models.ledger.size).toBeGreaterThan(3)
  }, 600_000)
})
