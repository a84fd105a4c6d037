// Embedding: the whole service inside a program of your own. Opens a project, spawns an agent, waits for its first goal.
// Run it with: npx tsx embedding.ts <folder>
import { Svc } from 'svc'

const [folder = '.'] = process.argv.slice(2)

await using svc = await Svc.open(folder, { log: { level: 'warn' } })
const reached = new Promise<string>(resolve => {
  svc.kernel.hooks.on('goal_completed', ({ goal_id }) => resolve(goal_id))
})
const agent = await svc.spawn('writer', { model: 'sim' })
console.log(`${agent.agent_id} lives`)

await svc.start()
const goal_id = await reached
const goals = (await svc.invoke('goals.list', { id: agent.agent_id })) as { goal_id: string; objective: string }[]
console.log(`it reached its first goal: ${goals.find(goal => goal.goal_id === goal_id)?.objective}`)
