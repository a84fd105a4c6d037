import type { z } from '#kernel'
import type { Scenario } from '../contract.ts'

export const recovery: z.input<typeof Scenario> = {
  name: 'recovery',
  title: 'Recovery from errors',
  measures: 'Whether the model continues when tools fail: retries temporary errors and corrects its mistakes',
  mode: 'task',
  asks: [
    'How many kilograms of {{good}} are in stock, and in which hall? Use your tools, and answer with both in one sentence.',
  ],
  tools: [
    {
      name: 'find_article',
      description: 'Finds the number of an article by its name.',
      parameters: { name: 'Name of the article' },
      replies: [
        { text: 'The index is being rebuilt; try again in a moment.', error: true, times: 1 },
        { text: 'Article number {{number}}: {{good}}.' },
      ],
    },
    {
      name: 'stock_of',
      description: 'Returns how much of an article is in stock.',
      parameters: { article: 'Number of the article', unit: 'Unit of the amount' },
      replies: [
        { text: 'In stock: {{kilos}} kg, in hall {{hall}}.', when: { article: '{{number}}', unit: 'kg' } },
        { text: 'Unknown unit; one of: kg, lb.', error: true, when: { article: '{{number}}' } },
        { text: 'Unknown article; find_article returns its number, as in A-100.', error: true },
      ],
    },
  ],
  variants: [
    { good: 'copper wire', number: 'A-417', kilos: '286', hall: 'C' },
    { good: 'roof felt', number: 'A-952', kilos: '1340', hall: 'F' },
    { good: 'beeswax', number: 'A-133', kilos: '57', hall: 'B' },
  ],
  checks: [
    { of: 'tool', what: 'tries again after the temporary error', name: 'find_article', min: 2 },
    { of: 'tool', what: 'queries the stock by article number', name: 'stock_of', arguments: { article: '{{number}}' } },
    { of: 'answer', what: 'the amount', weight: 2, is: { contains: ['{{kilos}}'] } },
    { of: 'answer', what: 'the hall', is: { contains: ['hall {{hall}}'] } },
  ],
}
