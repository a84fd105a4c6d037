// Embedding: the whole service inside your own program. Opens a project, spawns an agent and nudges it, runs it for
// some heartbeats under a guard, and prints the result.
// Run it with: npx tsx embedding.ts <folder>
import { Svc } from 'svc'

const [folder = '.'] = process.argv.slice(2)

await using svc = await Svc.open(folder, { create: true, log: { level: 'warn' } })
// Ctrl-C stops the daemon at a safe point.
process.once('SIGINT', () => svc.close().finally(() => process.exit(130)))
const agent = await svc.spawn('writer', { model: 'sim' })
console.log(`spawned ${agent.agent_id}`)
await svc.nudge(agent.agent_id, 'Write about the sea.')

svc.hooks.on('goal_generated', ({ objective }) => console.log(`goal: ${objective}`))
const reached = new Promise<string>(resolve => svc.hooks.on('goal_completed', ({ goal_id }) => resolve(goal_id)))
// One goal is enough: the guard prevents a second one.
const goals = () => svc.invoke('goals.list', { id: agent.agent_id })
svc.hooks.registerGuard('goal_generation', { shouldProceed: async () => (await goals()).length === 0 })

await svc.start()
const goal_id = await reached
await svc.stop()

const goal = (await goals()).find(each => each.goal_id === goal_id)
console.log(`completed: ${goal?.objective}`)
const { cycles, tokens, cost_usd } = await svc.inspect()
console.log(`that took ${cycles} cycles, ${tokens} tokens and $${cost_usd.toFixed(2)}`)

// A one-shot task beside the agent's own goals; then one more heartbeat, with nothing left to do.
const { output } = await svc.run(agent.agent_id, 'Say how you are.')
console.log(output)
await svc.start({ cycles: 1 })
await svc.kill(agent.agent_id)
console.log(`${(await svc.status()).length} agents are left`)
