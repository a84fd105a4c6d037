// A toolkit: tools for agents. Arguments are validated against `parameters` before `execute` receives them.
// Its return value goes to the model. So does the message of a ToolError; any other error also counts as a failure of
// the plugin.
import { definePlugin, ToolError, tool, z } from 'svc'

const METRES = { m: 1, km: 1000, mi: 1609.344, nmi: 1852, ft: 0.3048 }
const Unit = z.enum(['m', 'km', 'mi', 'nmi', 'ft'])

export default definePlugin({
  name: 'distances',
  description: 'Tools that convert distances.',
  setup(svc) {
    svc.toolkit({
      name: 'distances',
      instructions: 'Convert distances with convert_distance; do not do it in your head.',
      tools: [
        tool({
          name: 'convert_distance',
          description: 'Convert a distance from one unit to another.',
          parameters: z.object({ value: z.number(), from: Unit, to: Unit }),
          idempotent: true,
          execute({ value, from, to }) {
            if (value < 0) throw new ToolError({ problem: 'A distance is not negative; give its absolute value.' })
            return `${Number(((value * METRES[from]) / METRES[to]).toPrecision(6))} ${to}`
          },
        }),
      ],
    })
  },
})
