import { CallLimits, Models, ModelUsers, mergeParameters } from '#core/models/contract'
import { definePlugin, z } from '#kernel'
import { currentService } from '#lib/current-service'
import { DoctorChecks } from '#lib/doctor-check'
import { withEarlierNames } from '#lib/earlier-names'
import { DaemonStatusParts } from '#platform/daemon/contract'
import { type Cycle, neverHasWork } from '#platform/heartbeat/contract'
import { Effects, Store } from '#platform/store/contract'
import { Sandbox } from '#safety/sandbox/contract'
import { AgentDirectory, OwnAgents } from './agents.ts'
import { agentBlockReasons, frozenSince, noteGuard } from './block-reasons.ts'
import { fenceLimit, freezeLimit } from './call-limits.ts'
import { ActiveAgent, AgentFacets, Agents, BlockReasons, NudgeReceived, ProfileShapes } from './contract.ts'
import { waitingFinding } from './doctor.ts'
import { agentOperations } from './operations.ts'
import { AGENT_EFFECTS, listModelsInUse } from './repository.ts'
import { agentsForget } from './retention.ts'

const OfAgent = z.object({ agent_id: z.string() })

export default definePlugin({
  name: 'agents',
  description: 'Agents: spawn, edit, nudge, pause, resume and kill them, and show the status of each.',
  needs: ['store', 'profiles', 'models'],
  setup(svc) {
    const agents = new AgentDirectory(svc)
    svc.provide(
      Agents,
      withEarlierNames(agents, { fared: 'recordOutcome', born: 'create', died: 'markDead', others: 'listOthers' }),
    )
    const current = currentService(svc, Agents, agents)
    for (const effect of AGENT_EFFECTS) svc.add(Effects, effect.kind)
    svc.provide(OwnAgents, current)
    for (const operation of agentOperations) svc.operation(operation)
    agentsForget(svc)
    svc.add(ProfileShapes, {
      name: 'agents',
      // Most agents have the name and role of their preset, and share its profile object.
      shape: ({ name, given_role: role }, profile) =>
        role || name !== profile.name ? { ...profile, name, role: role || profile.role } : profile,
    })
    svc.add(ModelUsers, { name: 'agents', models: () => listModelsInUse(svc.use(Store)) })
    for (const hold of agentBlockReasons(svc)) svc.add(BlockReasons, hold)
    svc.add(DoctorChecks, { name: 'waiting_agents', run: () => waitingFinding(svc) })
    svc.add(DaemonStatusParts, {
      name: 'agents',
      async read() {
        const { goals_active: _, total: __, ...counts } = await current.counts()
        return { agents: counts }
      },
    })
    for (const limit of [freezeLimit(svc), fenceLimit(svc)]) svc.add(CallLimits, limit)
    svc.add(AgentFacets, {
      name: 'sandbox',
      read: async ({ folders }) => (folders.length > 0 && svc.has(Sandbox) ? svc.use(Sandbox).status() : null),
    })
    svc.add(AgentFacets, {
      name: 'parameters',
      async read(agent) {
        const profile = await current.profileOf(agent)
        // Unknown where a server chooses the model and was not asked yet; a read does not wait for it.
        const facts = await svc
          .use(Models)
          .describe(agent.model || profile.model || null, false)
          .catch(() => null)
        const { parameters, temperature, max_tokens } = profile
        return facts && mergeParameters(parameters, facts.parameters, { temperature, max_tokens })
      },
    })
    // Reads the agent once, before all steps of a cycle that use it. A missing agent is reported where the cycle needs
    // it.
    svc.tap('approval_gate', { name: 'agents', stage: -500, hasWork: neverHasWork }, async (cycle: Cycle) => {
      const agent = await current.find(cycle.agent_id).catch(() => undefined)
      if (agent) cycle.set(ActiveAgent, agent)
    })
    svc.tap('cleanup', { name: 'agents', hasWork: neverHasWork }, (cycle: Cycle) =>
      noteGuard(cycle, cycle.get(ActiveAgent)),
    )
    // A guard of all phases vetoes the cleanup too. A freeze has a block reason of its own.
    svc.tap('cleanup_vetoed', 'agents', async (cycle: Cycle) => {
      if ((await frozenSince(svc)) === null) noteGuard(cycle, cycle.get(ActiveAgent))
    })
    svc.event(
      'agent_spawned',
      OfAgent.extend({ name: z.string(), preset: z.string() }).describe('An agent was created'),
    )
    svc.event('nudge_received', NudgeReceived)
    svc.event(
      'agent_changed',
      OfAgent.extend({ changes: z.array(z.string()) }).describe('An agent was edited, paused or resumed'),
    )
    svc.event('agent_deleted', OfAgent.describe('An agent was killed, and all of its records were removed'))
    svc.event('agent_died', OfAgent.describe('An agent has died; its database row is kept'))
  },
})
