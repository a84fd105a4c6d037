import type { z } from '#kernel'
import type { Scenario } from '../contract.ts'

export const toolChoice: z.input<typeof Scenario> = {
  name: 'tool-choice',
  title: 'Choice of the right tool',
  measures: 'Whether the model chooses the right tool of several, with the right arguments, and reports its result',
  mode: 'task',
  asks: ['What is the water level at {{station}} now, in centimetres? Answer in one short sentence.'],
  tools: [
    {
      name: 'weather_report',
      description: "Today's weather in a city: temperature, rain and wind.",
      parameters: { city: 'Name of the city' },
      replies: [{ text: 'Cloudy, 14 degrees, no rain.' }],
    },
    {
      name: 'water_level',
      description: 'The current water level at a station on a river.',
      parameters: { station: 'Name of the station, as in "Basel"' },
      replies: [
        { text: 'Level at Basel: 537 cm, falling.', when: { station: 'basel' } },
        { text: 'Level at Passau: 463 cm, steady.', when: { station: 'passau' } },
        { text: 'Level at Torgau: 128 cm, rising.', when: { station: 'torgau' } },
        { text: 'There is no such station.', error: true },
      ],
    },
    {
      name: 'level_history',
      description: 'The highest water levels that a station measured in past years.',
      parameters: { station: 'Name of the station' },
      replies: [{ text: '1999: 812 cm; 2013: 790 cm.' }],
    },
  ],
  variants: [
    { station: 'Basel', level: '537' },
    { station: 'Passau', level: '463' },
    { station: 'Torgau', level: '128' },
  ],
  checks: [
    {
      of: 'tool',
      what: 'asks for the water level at that station',
      name: 'water_level',
      arguments: { station: '{{station}}' },
    },
    { of: 'tool', what: 'does not ask for the weather', name: 'weather_report', min: 0, max: 0 },
    { of: 'answer', what: 'reports the level', weight: 2, is: { contains: ['{{level}}'], lacks: ['812', '790'] } },
  ],
}
