import { AgentNotFoundError, AgentRef, Agents, AmbiguousAgentError } from '#core/agents/contract'
import { operation, type PluginHandle, z } from '#kernel'
import { Page } from '#lib/list'
import { pluralize } from '#lib/pluralize'
import { Store } from '#platform/store/contract'
import { SwarmSettings } from './config.ts'
import { RouteCandidate, Specialization, SwarmEffect, SwarmReport, SwarmReportNotFoundError } from './contract.ts'
import { countReports, listReports, openEffects } from './repository.ts'
import { OwnSwarm } from './swarm.ts'

const report_id = z
  .string()
  .min(1)
  .max(64)
  .meta({ examples: ['swr-15'] })
  .describe("A report's id")

const SwarmStatus = z
  .object({
    policy: z.string(),
    acts: z.boolean().describe('Whether a policy acts on what is learned'),
    latest: SwarmReport.nullable(),
    in_force: z.array(SwarmEffect).describe('Current effects: all that are not `ended` or `lifted`'),
    specializations: z.array(Specialization),
  })
  .meta({ id: 'SwarmStatus' })

const store = (svc: PluginHandle) => svc.use(Store)

const errors = [SwarmReportNotFoundError]

export const swarmShow = operation({
  name: 'swarm.show',
  summary: "Show the latest swarm report and agents' strengths",
  description: "Aggregates the results of all agents' goals; swarm.policy sets how the daemon acts on them.",
  input: z.object({}),
  output: SwarmStatus,
  http: { method: 'GET', path: '/swarm' },
  cli: { usage: 'swarm' },
  mcp: true,
  async run(_, { svc }) {
    const [latest = null] = await listReports(store(svc), 1, 0)
    return {
      policy: svc.use(SwarmSettings).policy,
      acts: svc.use(OwnSwarm).acting,
      latest,
      in_force: await openEffects(store(svc)),
      specializations: await svc.use(OwnSwarm).specializations(),
    }
  },
  render: ({ policy, latest, in_force, specializations }) =>
    [
      `policy: ${policy}`,
      latest ? renderReport(latest) : 'No swarm report yet: one is made on every fifth heartbeat of the daemon.',
      ...in_force.map(effectLine),
      ...specializations.map(skill),
    ].join('\n'),
})

export const swarmReports = operation({
  name: 'swarm.reports',
  summary: 'List swarm reports, newest first',
  description: 'A report is made on every fifth heartbeat of the daemon.',
  input: Page,
  output: z.array(SwarmReport),
  http: { method: 'GET', path: '/swarm/reports' },
  cli: { usage: 'swarm reports', short: { limit: 'n' } },
  mcp: true,
  run: ({ limit, offset }, { svc }) => listReports(store(svc), limit ?? -1, offset),
  count: (_, { svc }) => countReports(store(svc)),
  render: reports => reports.map(summary).join('\n') || 'none',
})

export const swarmReport = operation({
  name: 'swarm.report',
  summary: 'Show a swarm report and its actions',
  description: 'Returns the findings of the report and the actions taken because of them.',
  input: z.object({ report_id }),
  output: SwarmReport,
  http: { method: 'GET', path: '/swarm/reports/{report_id}' },
  cli: { usage: 'swarm report <report_id>' },
  errors,
  run: ({ report_id: id }, { svc }) => svc.use(OwnSwarm).report(id),
  render: renderReport,
})

export const swarmRevert = operation({
  name: 'swarm.revert',
  summary: "Undo a swarm report's actions",
  description: 'Reverted actions are not repeated while the reason for them persists.',
  input: z.object({ report_id }),
  output: SwarmReport,
  http: { method: 'POST', path: '/swarm/reports/{report_id}/revert' },
  cli: { usage: 'swarm revert <report_id>' },
  errors,
  run: ({ report_id: id }, { svc }) => svc.use(OwnSwarm).revert(id),
  render: renderReport,
})

export const swarmRoute = operation({
  name: 'swarm.route',
  summary: 'List agents suited for a task, best first',
  description: 'Ranks agents by their results in the kind of work that the task belongs to.',
  input: z.object({
    task: z
      .string()
      .min(1)
      .max(8_000)
      .meta({ examples: ['Fix the bug in the parser'] })
      .describe('Description of the task'),
  }),
  output: z.array(RouteCandidate),
  http: { method: 'GET', path: '/swarm/route' },
  cli: { usage: 'swarm route <task...>' },
  run: ({ task }, { svc }) => svc.use(OwnSwarm).candidates(task, null),
})

export const agentsSpecialization = operation({
  name: 'agents.specialization',
  summary: 'Show which kinds of work an agent is good at',
  description: 'Computes the specialization of the agent from its last 200 goals.',
  input: z.object({ id: AgentRef }),
  output: Specialization,
  http: { method: 'GET', path: '/agents/{id}/specialization' },
  cli: { usage: 'specialization <id>' },
  mcp: true,
  errors: [AgentNotFoundError, AmbiguousAgentError],
  run: async ({ id }, { svc }) => svc.use(OwnSwarm).specialization((await svc.use(Agents).find(id)).agent_id),
  render: specialization => `${skill(specialization)}\n${specialization.types.map(typeLine).join('\n')}`.trim(),
})

export const swarmOperations = [swarmShow, swarmReports, swarmReport, swarmRevert, swarmRoute, agentsSpecialization]

const percent = (rate: number) => `${Math.round(rate * 100)} %`

function summary({ report_id: id, created_at, policy, agents, figures, effects, reverted_at }: SwarmReport): string {
  const rate = figures.success_rate === null ? 'no goals yet' : `${percent(figures.success_rate)} of goals completed`
  const done = `${pluralize(effects.length, 'effect')}${reverted_at === null ? '' : ', reverted'}`
  return `${id}  ${created_at.slice(0, 16).replace('T', ' ')}  ${policy}  ${pluralize(agents, 'agent')}  ${rate}  ${done}`
}

function renderReport(report: SwarmReport): string {
  const lines = report.recommendations.map(({ priority, kind, text }) => `  ${priority} ${kind}: ${text}`)
  return [summary(report), ...lines, ...report.effects.map(effectLine)].join('\n')
}

function effectLine({ effect_id, kind, agent_id, topic, status }: SwarmEffect): string {
  return `  ${effect_id}  ${status}  ${kind} (${topic}) for ${agent_id}`
}

function skill({ agent_id, goals, score, strengths }: Specialization): string {
  return `${agent_id}: ${pluralize(goals, 'goal')}, specialization ${score}, good at ${strengths.join(', ') || 'no topic yet'}`
}

function typeLine({ task_type, goals, rate, mean_duration_ms }: Specialization['types'][number]): string {
  return `  ${task_type}: ${percent(rate)} of ${goals} completed, ${Math.round(mean_duration_ms / 1000)} s on average`
}
