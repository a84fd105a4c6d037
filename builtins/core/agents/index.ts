import { ActiveAgent } from '#core/goals/contract'
import { ModelUsers } from '#core/models/contract'
import { definePlugin, z } from '#kernel'
import { type Cycle, neverHasWork } from '#platform/heartbeat/contract'
import { Effects, Store } from '#platform/store/contract'
import { AgentDirectory } from './agents.ts'
import { Agents, Holds, NudgeReceived, ProfileShapes } from './contract.ts'
import { noteGuard, ownHolds } from './next.ts'
import { agentOperations } from './operations.ts'
import { AGENT_EFFECTS, modelsOfLiving } from './repository.ts'
import { agentsForget } from './retention.ts'

const OfAgent = z.object({ agent_id: z.string() })

export default definePlugin({
  name: 'agents',
  description: 'Who lives here: spawn, edit, nudge, pause, resume, kill, and the status of each.',
  needs: ['store', 'profiles', 'models'],
  setup(svc) {
    const agents = new AgentDirectory(svc)
    svc.provide(Agents, agents)
    for (const effect of AGENT_EFFECTS) svc.add(Effects, effect.kind)
    for (const operation of agentOperations(agents)) svc.operation(operation)
    agentsForget(svc)
    svc.add(ProfileShapes, {
      name: 'agents',
      // Most have the role of their preset, and share its profile as it is.
      shape: ({ given_role: role }, profile) => (role ? { ...profile, role } : profile),
    })
    svc.add(ModelUsers, { name: 'agents', models: () => modelsOfLiving(svc.use(Store)) })
    for (const hold of ownHolds(svc)) svc.add(Holds, hold)
    // Read once a cycle, before all that goes by it. One that is gone is reported where the cycle needs it.
    svc.tap('approval_gate', { name: 'agents', stage: -500, busy: neverHasWork }, async (cycle: Cycle) => {
      const agent = await agents.find(cycle.agent_id).catch(() => undefined)
      if (agent) cycle.set(ActiveAgent, agent)
    })
    svc.tap('cleanup', { name: 'agents', busy: neverHasWork }, (cycle: Cycle) =>
      noteGuard(cycle, cycle.get(ActiveAgent)),
    )
    svc.event('agent_spawned', OfAgent.extend({ name: z.string(), preset: z.string() }).describe('An agent was made'))
    svc.event('nudge_received', NudgeReceived)
    svc.event(
      'agent_changed',
      OfAgent.extend({ changes: z.array(z.string()) }).describe('An agent was edited, paused or resumed'),
    )
    svc.event('agent_deleted', OfAgent.describe('An agent was killed, with all of its records'))
    svc.event('agent_died', OfAgent.describe('An agent has died; its row stays'))
  },
})
