import type { z } from '#kernel'
import type { Scenario } from '../contract.ts'

export const pursuit: z.input<typeof Scenario> = {
  name: 'pursuit',
  title: 'Multi-step goal',
  measures: 'Whether the model pursues a goal over several steps and cycles until it is reached, and says so',
  mode: 'pursuit',
  asks: [
    'Read the notes in the folder notes/. Write index.md with one line for each note, "- <file name>: <title>", sorted by file name; the title is the first line of the note. Then write oldest.txt with the file name of the note with the earliest date, and nothing else.',
  ],
  toolkits: ['file'],
  files: {
    'notes/bridge.md': '{{one}}\n\nDated 2021-03-14. The bridge needs paint.\n',
    'notes/apples.md': '{{two}}\n\nDated 2019-10-02. Twelve baskets.\n',
    'notes/clock.md': '{{three}}\n\nDated 2020-06-30. It is four minutes slow.\n',
  },
  variants: [
    { one: 'On the old bridge', two: 'The apple harvest', three: 'A slow clock' },
    { one: 'Paint for the bridge', two: 'Baskets', three: 'Four minutes' },
    { one: 'River crossing', two: 'What the orchard gave', three: 'Time lost' },
  ],
  checks: [
    {
      of: 'file',
      what: 'index.md names all notes',
      path: 'index.md',
      is: { contains: ['apples.md', 'bridge.md', 'clock.md'] },
    },
    {
      of: 'file',
      what: 'index.md matches the request line by line',
      weight: 2,
      path: 'index.md',
      is: { equals: '- apples.md: {{two}} - bridge.md: {{one}} - clock.md: {{three}}' },
    },
    {
      of: 'file',
      what: 'oldest.txt names the oldest note',
      weight: 2,
      path: 'oldest.txt',
      is: { equals: 'apples.md' },
    },
    {
      of: 'file',
      what: 'leaves the notes as they were',
      path: 'notes/apples.md',
      is: { contains: ['Twelve baskets.'] },
    },
  ],
}
