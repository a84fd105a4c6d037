// A standalone agent: instructions, tools and a model inside a program, without a project, a daemon or files.
// Run it with: npx tsx agent.ts; without a key in the environment the model is simulated, and the output says so.
import { Agent, tool, z } from 'svc'

const stock = new Map([
  ['bolts', 120],
  ['nuts', 80],
])

const agent = new Agent({
  instructions: 'You keep the stock of a workshop, and answer in one sentence.',
  maxCostUsd: 0.05,
  tools: [
    tool({
      name: 'count_stock',
      description: 'Count the pieces of an article in stock.',
      parameters: z.object({ article: z.enum(['bolts', 'nuts']) }),
      execute: ({ article }) => stock.get(article),
    }),
    tool({
      name: 'order',
      description: 'Order more pieces of an article.',
      parameters: z.object({ article: z.enum(['bolts', 'nuts']), pieces: z.number().int().positive() }),
      requires_approval: true,
      execute: ({ article, pieces }) => `${pieces} ${article} are ordered`,
    }),
  ],
  // Small orders are approved without a person.
  onApproval: ({ arguments: order }) =>
    (order as { pieces: number }).pieces <= 100 || { decision: 'deny', reason: 'at most 100' },
})

const [question = 'Ask count_stock how many bolts there are.'] = process.argv.slice(2)
for await (const event of agent.stream(question)) {
  if (event.type === 'tool_call') console.log(`calls ${event.name} ${JSON.stringify(event.arguments)}`)
  if (event.type === 'tool_result') console.log(`reads ${event.content}`)
  if (event.type !== 'done') continue
  const { output, model, steps_taken, tokens, cost_usd } = event.result
  console.log(output)
  console.log(`${model}: ${steps_taken} steps, ${tokens} tokens, $${cost_usd.toFixed(4)}`)
}
