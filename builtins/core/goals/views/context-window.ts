import { AgentNotFoundError, AgentRef, Agents, AmbiguousAgentError } from '#core/agents/contract'
import { ContextCompacted, ContextReport, type Message, ModelNameError, Models } from '#core/models/contract'
import { Profiles } from '#core/profiles/contract'
import { Runtime } from '#core/runtime/contract'
import { defineError, operation, z } from '#kernel'
import { columns } from '#lib/columns'
import { isoTime, Store } from '#platform/store/contract'
import { pursuitParts } from '../context/prompt.ts'
import { sectionsFor } from '../context/sections.ts'
import { activeGoal, lastCompaction, loadTranscript } from '../repository.ts'

const Context = ContextReport.extend({
  agent_id: z.string(),
  goal_id: z.string().nullable().describe('The goal in pursuit; null when there is none'),
  last_room_made: z
    .object({
      at: z.iso.datetime(),
      ...ContextCompacted.pick({ how: true, model: true, summary_model: true }).shape,
    })
    .nullable()
    .describe('Last `context_compacted` event of the goal; null if there is none, or if it is no longer kept'),
}).meta({ id: 'AgentContext' })
export type Context = z.infer<typeof Context>

const NoMeasureError = defineError({
  code: 'context_not_measured',
  status: 501,
  title: 'Context not measured',
  message: () => 'The plugin that provides the models does not measure requests.',
})

/** Shows how much of its model's context window the next request of a pursuit takes. */
export const goalsContext = operation({
  name: 'goals.context',
  summary: "Show how full an agent's context window is",
  description: 'Compares the next pursuit request of the agent, by section, with the context window of its model.',
  input: z.object({ id: AgentRef }),
  output: Context,
  http: { method: 'GET', path: '/agents/{id}/context' },
  cli: { usage: 'context <id>' },
  mcp: true,
  errors: [AgentNotFoundError, AmbiguousAgentError, ModelNameError, NoMeasureError],
  async run({ id }, { svc }) {
    const models = svc.use(Models)
    if (!models.measure) throw new NoMeasureError()
    const agent = await svc.use(Agents).find(id)
    const profile = await svc.use(Agents).profileOf(agent)
    const { agent_id, cycle_num } = agent
    const goal = await activeGoal(svc.use(Store), agent_id)
    const goal_id = goal?.goal_id ?? null
    const tools = svc.use(Runtime).toolsFor(profile)
    const sections = await sectionsFor(svc, 'goal_pursuit', agent, profile)
    const system_parts = pursuitParts(profile, await svc.use(Profiles).skills(profile), sections, tools)
    const transcript = goal_id === null ? [] : await loadTranscript(svc.use(Store), goal_id)
    const system: Message = { role: 'system', content: system_parts.join('\n\n') }
    const messages = [system, ...transcript.map(({ message }) => message)]
    const report = await models.measure({
      model: agent.model || profile.model || null,
      messages,
      system_parts,
      tools: tools.toolsAfter(messages),
      toolsWithin: tokens => tools.toolsAfter(messages, tokens),
      max_tokens: profile.max_tokens,
      parameters: profile.parameters,
      purpose: { agent_id, goal_id, cycle_num, kind: 'goal_pursuit' },
    })
    return { agent_id, goal_id, last_room_made: await lastShortening(svc.use(Store), agent_id, goal_id), ...report }
  },
  render,
})

async function lastShortening(
  store: Store,
  agent_id: string,
  goal_id: string | null,
): Promise<Context['last_room_made']> {
  const event = goal_id === null ? undefined : await lastCompaction(store, agent_id)
  const compaction = event && ContextCompacted.safeParse(JSON.parse(event.data)).data
  if (!event || compaction?.goal_id !== goal_id) return null
  const { how, model, summary_model } = compaction
  return { at: isoTime(event.at), how, model, summary_model }
}

const HOW = {
  summary: 'by a summary',
  digest: 'by a digest',
  cleared: 'by clearing old results',
  cut: 'by cutting long messages',
}

const SECTIONS = {
  system: 'system prompt',
  tools: 'tools',
  messages: 'conversation',
  answer: 'reserved for the answer',
}

function render(context: Context): string {
  const { agent_id, goal_id, model, window, sections, total, last_room_made } = context
  const { cleared, summarized, digested, cut } = context
  const share = (tokens: number) => `${Math.round((tokens / window) * 100)} %`
  const row = (name: string, tokens: number) => [name, tokens.toLocaleString('en'), share(tokens)]
  const rows = Object.entries(SECTIONS).map(([key, name]) => row(name, sections[key as keyof typeof sections]))
  const shortened = [
    cleared > 0 && `${cleared} old results or arguments were cut to one line each`,
    summarized > 0 && `${summarized} messages were replaced by a summary`,
    digested > 0 && `${digested} messages were replaced by a digest`,
    cut > 0 && `${cut} messages were cut in the middle`,
  ].filter(each => each !== false)
  return [
    `${agent_id}: ${goal_id ?? 'no goal'}, ${model} (window of ${window.toLocaleString('en')} tokens)`,
    ...columns([['SECTION', 'TOKENS', 'SHARE OF WINDOW'], ...rows, row('total', total)]),
    ...(shortened.length > 0 ? [`Shortened: ${shortened.join('; ')}.`] : []),
    ...(last_room_made ? [`The last event about it: shortened ${lastLine(last_room_made)}.`] : []),
  ].join('\n')
}

function lastLine({ at, how, model, summary_model }: NonNullable<Context['last_room_made']>): string {
  return `${HOW[how]}${how === 'summary' ? ` of ${summary_model}` : ''}, for ${model}, at ${at}`
}
