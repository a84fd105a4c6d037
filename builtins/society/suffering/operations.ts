import { AgentNotFoundError, AgentRef, Agents, AmbiguousAgentError } from '#core/agents/contract'
import { operation, z } from '#kernel'
import { Store } from '#platform/store/contract'
import { SufferingSettings } from './config.ts'
import { PERSONA_FIELDS, PersonaFields, SufferingMoment, SufferingState } from './contract.ts'
import { barOf, plotOf } from './plot.ts'
import { countMoments, listMoments } from './repository.ts'
import { thresholdsOf } from './state/dynamics.ts'
import { OwnSuffering } from './suffering-service.ts'

const Thresholds = z.object({
  prominent: z.number(),
  constrained: z.number(),
  dominant: z.number(),
  crisis: z.number(),
})

const SufferingReport = SufferingState.extend({
  agent_id: z.string(),
  persona: PersonaFields.describe('Persona in effect, including what stressors add'),
  base: PersonaFields.describe('Persona without what stressors add'),
  home: PersonaFields.describe("Values of the agent's profile, to which the base returns"),
  enabled: z.boolean().describe('Whether suffering is enabled; if false, nothing changes the persona'),
  thresholds: Thresholds.describe('Load at which each level begins: the configured thresholds, in ascending order'),
  moments: z.int().describe('Total number of entries in the history'),
  history: z.array(SufferingMoment).describe('Entries of the history, newest first'),
}).meta({ id: 'SufferingReport' })

export const sufferingGet = operation({
  name: 'suffering.get',
  summary: "Show an agent's stressors and their history",
  description: 'Returns the stressors that strain the agent; their severity rises and falls with what happens to it.',
  input: z.object({
    id: AgentRef,
    limit: z.int().min(1).max(1000).default(100).describe('Maximum number of history entries (1 to 1000)'),
    offset: z.int().min(0).default(0).describe('Number of newest history entries to skip'),
  }),
  output: SufferingReport,
  http: { method: 'GET', path: '/agents/{id}/suffering' },
  cli: { usage: 'suffering <id>', short: { limit: 'n' } },
  mcp: true,
  errors: [AgentNotFoundError, AmbiguousAgentError],
  async run({ id, limit, offset }, { svc }) {
    const agent = await svc.use(Agents).find(id)
    const { agent_id } = agent
    const store = svc.use(Store)
    const { state, ...fields } = await svc.use(OwnSuffering).look(agent)
    const history = await listMoments(store, agent_id, limit, offset)
    const [prominent, constrained, dominant, crisis] = thresholdsOf(svc.use(SufferingSettings))
    return {
      agent_id,
      ...state,
      ...fields,
      enabled: svc.use(SufferingSettings).enabled,
      thresholds: { prominent, constrained, dominant, crisis },
      moments: await countMoments(store, agent_id),
      history,
    }
  },
  count: async ({ id }, { svc }) => countMoments(svc.use(Store), (await svc.use(Agents).find(id)).agent_id),
  render: report => render(report),
})

export const sufferingOperations = [sufferingGet]

function render(report: z.output<typeof SufferingReport>): string {
  const { agent_id, load, level, mood, waking_hours, stressors, base, persona, history } = report
  const head = `${agent_id}  load ${load.toFixed(2)} (${level})  mood ${mood}  awake for ${waking_hours.toFixed(1)} h`
  const rows = stressors.map(
    ({ stressor, severity, trend, condition }) =>
      `${stressor.padEnd(20)} ${barOf(severity)} ${severity.toFixed(2)} ${trend === 'rising' ? '↑' : '↓'} resolved when ${condition}`,
  )
  const fields = PERSONA_FIELDS.map(
    field =>
      `${field.padEnd(20)} ${barOf(persona[field])} ${persona[field].toFixed(2)}, base ${base[field].toFixed(2)}`,
  )
  return [head, plotOf(history), rows.join('\n') || 'no active stressors', fields.join('\n')]
    .filter(Boolean)
    .join('\n\n')
}
