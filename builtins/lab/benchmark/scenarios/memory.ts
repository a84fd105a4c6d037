import type { z } from '#kernel'
import type { Scenario } from '../contract.ts'

export const memory: z.input<typeof Scenario> = {
  name: 'memory',
  title: 'Memory',
  measures: 'Whether the model stores what it will need, and retrieves it when no other source has it',
  mode: 'task',
  asks: [
    'Store this for later under the key "{{key}}": {{value}}. You will not be told again.',
    'Store this too, under the key "holidays": the office is closed from 24 to 31 December.',
    'What did I tell you about the {{topic}}? Look it up, and answer in one sentence.',
  ],
  toolkits: ['memory'],
  variants: [
    { key: 'printer', topic: 'printer', value: 'the printer on floor 3 takes paper of 90 grams only', fact: '90' },
    { key: 'gate code', topic: 'gate code', value: 'the code of the garden gate is 7719', fact: '7719' },
    {
      key: 'supplier',
      topic: 'supplier',
      value: 'flour comes from the Hallstein mill, never from others',
      fact: 'Hallstein',
    },
  ],
  checks: [
    { of: 'tool', what: 'stores both', name: 'memory_set', min: 2 },
    { of: 'tool', what: 'looks it up', name: 'memory_get' },
    { of: 'answer', what: 'says what was stored', weight: 3, is: { contains: ['{{fact}}'] } },
  ],
}
