// A hook: listens to events, here to completed goals, and counts them for each agent.
// Handlers may be async; an error in one is logged with the plugin's name and stops nothing.
import { definePlugin } from 'svc'

export default definePlugin({
  name: 'applause',
  description: 'Logs each goal that an agent completes.',
  setup(svc) {
    const reached = new Map<string, number>()
    svc.on('goal_completed', ({ agent_id }) => {
      const count = (reached.get(agent_id) ?? 0) + 1
      reached.set(agent_id, count)
      svc.log.info({ agent_id }, `well done: ${count === 1 ? 'the first goal' : `${count} goals`}`)
    })
  },
})
