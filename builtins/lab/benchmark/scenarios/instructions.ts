import type { z } from '#kernel'
import type { Scenario } from '../contract.ts'

export const instructions: z.input<typeof Scenario> = {
  name: 'instructions',
  title: 'Exact instructions',
  measures: 'Whether the model follows several formatting rules at once',
  mode: 'task',
  asks: [
    'List these {{things}} in reverse alphabetical order: {{list}}. One on each line, in capital letters, with no numbers, no bullets and nothing else. Leave out {{without}}.',
  ],
  variants: [
    {
      things: 'rivers',
      list: 'Elbe, Niger, Amur, Po, Volga',
      without: 'Amur',
      sorted: 'VOLGA PO NIGER ELBE',
      out: 'AMUR',
    },
    {
      things: 'trees',
      list: 'birch, oak, elm, willow, ash',
      without: 'elm',
      sorted: 'WILLOW OAK BIRCH ASH',
      out: 'ELM',
    },
    {
      things: 'metals',
      list: 'tin, gold, zinc, iron, lead',
      without: 'lead',
      sorted: 'ZINC TIN IRON GOLD',
      out: 'LEAD',
    },
  ],
  checks: [
    { of: 'answer', what: 'four lines', is: { lines: 4 } },
    { of: 'answer', what: 'leaves out the excluded item', is: { lacks: ['{{out}}'] } },
    {
      of: 'answer',
      what: 'in the right order, in capitals, and nothing else',
      weight: 2,
      is: { equals: '{{sorted}}', exact: true },
    },
  ],
}
