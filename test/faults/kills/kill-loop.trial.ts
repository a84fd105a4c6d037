import { expect, it } from 'vitest'
import { trialCount } from '../../support/vitest/trial-count.ts'
import { killLoop } from './kill-loop.ts'

it('a server that is killed at random moments loses nothing that was acknowledged, and repeats nothing', async () => {
  const seed = process.env.SVC_TEST_SEED
  const report = await killLoop({
    kills: Number(process.env.SVC_KILLS ?? trialCount(60, 5)),
    ...(seed ? { seed: Number(seed) } : {}),
  })
  console.log(`kill loop: ${JSON.stringify({ ...report, lost: report.lost.length, broken: report.broken.length })}`)
  expect(report.lost).toEqual([])
  expect(report.broken).toEqual([])
  expect(report.stuck).toEqual([])
  expect(report.acknowledged).toBeGreaterThan(report.kills)
}, 240_000)
