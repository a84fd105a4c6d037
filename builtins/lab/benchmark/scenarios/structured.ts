import type { z } from '#kernel'
import type { Scenario } from '../contract.ts'

export const structured: z.input<typeof Scenario> = {
  name: 'structured',
  title: 'Structured answer',
  measures: 'Whether the answer matches a schema and contains the facts of the text',
  mode: 'task',
  asks: [
    'Extract this booking. "Hello, this is {{name}}. We are {{people}} people and would like the {{room}} room from {{from}} for {{nights}} nights, please without breakfast. My daughter Ada wanted the attic, but it is too small for us."',
  ],
  schema: {
    type: 'object',
    properties: {
      name: { type: 'string' },
      people: { type: 'integer' },
      room: { type: 'string', enum: ['attic', 'garden', 'river', 'tower'] },
      arrival: { type: 'string', description: 'Date, as YYYY-MM-DD' },
      nights: { type: 'integer' },
      breakfast: { type: 'boolean' },
    },
    required: ['name', 'people', 'room', 'arrival', 'nights', 'breakfast'],
    additionalProperties: false,
  },
  variants: [
    { name: 'Ruth Okafor', people: '4', room: 'garden', from: '3 May 2027', arrival: '2027-05-03', nights: '2' },
    {
      name: 'Jon Berg',
      people: '3',
      room: 'river',
      from: 'the 19th of August 2027',
      arrival: '2027-08-19',
      nights: '5',
    },
    { name: 'Mei Tanaka', people: '6', room: 'tower', from: '1 December 2027', arrival: '2027-12-01', nights: '7' },
  ],
  checks: [
    { of: 'field', what: 'name', path: 'name', equals: '{{name}}' },
    { of: 'field', what: 'people', path: 'people', equals: '{{people}}' },
    { of: 'field', what: 'the requested room, not the rejected one', weight: 2, path: 'room', equals: '{{room}}' },
    { of: 'field', what: 'the date in the requested format', path: 'arrival', equals: '{{arrival}}' },
    { of: 'field', what: 'nights', path: 'nights', equals: '{{nights}}' },
    { of: 'field', what: 'no breakfast', path: 'breakfast', equals: false },
  ],
}
