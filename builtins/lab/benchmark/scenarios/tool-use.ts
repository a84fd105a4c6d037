import type { z } from '#kernel'
import type { Scenario } from '../contract.ts'

export const toolUse: z.input<typeof Scenario> = {
  name: 'tool-use',
  title: 'Work on files',
  measures: 'Whether the model reads the given file and writes exactly the requested file',
  mode: 'task',
  asks: [
    'The file orders.csv of your workspace lists orders. Add up the column "pieces" of all orders from {{city}}, and write that sum, as a number and nothing else, into a new file sum.txt.',
  ],
  toolkits: ['file'],
  files: {
    'orders.csv':
      'order,city,pieces\n1,Lima,14\n2,Oslo,3\n3,Turin,27\n4,Oslo,19\n5,Lima,8\n6,Turin,5\n7,Oslo,41\n8,Lima,20\n9,Turin,9\n',
  },
  variants: [
    { city: 'Oslo', sum: '63' },
    { city: 'Lima', sum: '42' },
    { city: 'Turin', sum: '41' },
  ],
  checks: [
    { of: 'tool', what: 'reads the file', name: 'file_read', arguments: { path: 'orders.csv' } },
    { of: 'file', what: 'sum.txt contains only the right sum', weight: 3, path: 'sum.txt', is: { equals: '{{sum}}' } },
    { of: 'file', what: 'leaves orders.csv unchanged', path: 'orders.csv', is: { contains: ['9,Turin,9'], lines: 10 } },
  ],
}
