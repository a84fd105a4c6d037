import { randomInt } from 'node:crypto'
import { expect, it } from 'vitest'
import { conversationSoak } from './conversation-soak.ts'

await import('openai')
await import('@anthropic-ai/sdk')

it('no request of a pursuit is refused by any provider, whatever happens to the conversation', {
  timeout: 240_000,
}, async () => {
  const seed = Number(process.env.SVC_TEST_SEED ?? randomInt(2 ** 31))
  const report = await conversationSoak({ requests: Number(process.env.SVC_TEST_WHOLE ? 3_000 : 150), seed })
  const context = JSON.stringify(report.counts)
  expect({ refused: report.refused, empty: report.empty, seed, context }).toEqual({
    refused: [],
    empty: 0,
    seed,
    context,
  })
  expect(report.counts.restart ?? 0).toBeGreaterThan(0)
})
