// Another goal loop: each goal is one question to the agent's model, and the answer is the result. It replaces the
// module `goals`, which still selects the current goal, and whose routes, commands and events stay. No goals are
// generated.
import { definePlugin } from 'svc'
import { bookSpend } from 'svc/budget'
import { ActiveAgent, ActiveGoal, ActiveProfile, Goals } from 'svc/goals'
import { Models } from 'svc/models'

/** Pause after a failed model call, in milliseconds. */
const RETRY_MS = 60_000

export default definePlugin({
  name: 'goal-loop',
  description: 'Pursues each goal with a single model call.',
  replaces: 'goals',
  needs: ['store', 'agents', 'models'],
  setup(svc) {
    svc.tap('goal_pursuit', 'goal-loop', async cycle => {
      const agent = cycle.get(ActiveAgent)!
      const profile = cycle.get(ActiveProfile)!
      const goal = cycle.get(ActiveGoal)!
      const { agent_id, goal_id } = goal
      const { cycle_num, signal } = cycle
      const { role, temperature, max_tokens, fallback, parameters, max_cost_usd, max_total_cost_usd } = profile
      const whose = { agent_id, goal_id, cycle_num, root_agent_id: agent.root_agent_id }
      // Applies if the call fails. A cycle that ends well is followed by the next heartbeat.
      cycle.run_at = svc.clock.ms() + RETRY_MS
      const { text, spend } = await svc.use(Models).call({
        model: agent.model || profile.model || null,
        fallback,
        temperature,
        max_tokens,
        parameters,
        signal,
        purpose: { ...whose, kind: 'goal_pursuit', max_cost_usd, max_total_cost_usd },
        messages: [
          { role: 'system', content: `Role: ${role}. Answer the request completely; there is no second message.` },
          { role: 'user', content: goal.objective },
        ],
        tools: [],
      })
      cycle.run_at = undefined
      // Written in the transaction that ends the cycle: after a crash before it, the goal is still active.
      cycle.effects.push(bookSpend({ ...whose, kind: 'goal_pursuit', ...spend }))
      cycle.effects.push(...svc.use(Goals).complete(goal, text))
      cycle.result = 'completed'
    })
  },
})
