// An operation: an action for people and programs. Written once, it is a REST route (GET /tally), a command
// (svc tally), an MCP tool and an entry of the OpenAPI document.
import { Agents, definePlugin, z } from 'svc'

export default definePlugin({
  name: 'tally',
  description: 'Counts agents and goals.',
  setup(svc) {
    svc.operation({
      name: 'agents.tally',
      summary: 'Count agents and their active goals',
      input: z.strictObject({ dead: z.boolean().default(false).describe('Whether dead agents are counted') }),
      output: z.object({ agents: z.number().int(), goals: z.number().int() }),
      http: { method: 'GET', path: '/tally' },
      cli: { usage: 'tally' },
      mcp: true,
      async run({ dead }) {
        const counts = await svc.use(Agents).counts()
        return { agents: dead ? counts.total : counts.total - counts.dead, goals: counts.goals_active }
      },
      render: ({ agents, goals }) => `${agents} agents, ${goals} goals`,
    })
  },
})
