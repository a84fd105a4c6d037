import { AgentNotFoundError, Agents, AmbiguousAgentError } from '#core/agents/contract'
import { operation, z } from '#kernel'
import { tokensOf } from './offer.ts'
import { type DescribedSet, type ToolSelection, ToolSets } from './tools.ts'

const GivenTool = z.object({
  name: z.string(),
  toolkit: z.string(),
  owner: z.string().describe('The plugin that it comes from'),
  tokens: z.number().int().describe('What it takes of each prompt while it is on offer, estimated'),
  offered: z.boolean().describe('In view from the first step; others are found with find_tools'),
  idempotent: z.boolean().describe('May be run again when it is unknown whether it ran'),
  requires_approval: z.boolean().describe('Waits for the operator, where approvals are on'),
  danger: z.string().nullable().describe('What it can do harm to'),
  description: z.string(),
})

const GivenTools = z.object({
  agent_id: z.string().nullable().describe('null: what an agent is given whose profile limits nothing'),
  budget_tokens: z.number().int().describe("daemon.tool_prompt_tokens; 0: a fifth of the model's context window"),
  offered_tokens: z.number().int().describe('What the tools on offer and the words about them take of each prompt'),
  all_tokens: z.number().int().describe('What it would be, were all tools on offer'),
  tools: z.array(GivenTool),
})
type GivenTools = z.infer<typeof GivenTools>

const EVERYTHING: ToolSelection = { toolkits: null, tools: null, core: null, skills: [] }

export const toolsList = operation({
  name: 'tools.list',
  summary: "List an agent's tools and their prompt size",
  description: 'The tools that its profile gives it, by toolkit, with the tokens that each takes in a prompt.',
  input: z.strictObject({
    id: z
      .string()
      .min(1)
      .max(128)
      .optional()
      .meta({ examples: ['coder-1a2b3c4d'] })
      .describe("An agent's id, or its name when only one has it; without it (over REST: *) all tools that there are"),
  }),
  output: GivenTools,
  http: { method: 'GET', path: '/agents/{id}/tools' },
  cli: { usage: 'tools [id]' },
  mcp: true,
  errors: [AgentNotFoundError, AmbiguousAgentError],
  render,
  async run({ id = '*' }, { svc }) {
    const agent = id === '*' ? undefined : await svc.use(Agents).find(id)
    const set = svc.use(ToolSets)(agent ? await svc.use(Agents).profileOf(agent) : EVERYTHING)
    return {
      agent_id: agent?.agent_id ?? null,
      budget_tokens: Number(svc.config.get('daemon.tool_prompt_tokens')),
      ...describeTools(set),
    }
  },
})

/** Operations that list tools and their prompt cost. */
export const runtimeOperations = [toolsList]

function describeTools(set: DescribedSet): Omit<GivenTools, 'agent_id' | 'budget_tokens'> {
  const offered = new Set(set.specs.map(({ name }) => name))
  return {
    offered_tokens: tokensOf(set.specs) + set.instructions_tokens,
    all_tokens: tokensOf(set.tools.map(({ spec }) => spec)) + set.instructions_tokens,
    tools: set.tools.map(({ tool, spec, toolkit, owner }) => ({
      ...{ name: spec.name, toolkit, owner, tokens: tokensOf([spec]), offered: offered.has(spec.name) },
      ...{ idempotent: tool.idempotent === true, requires_approval: tool.requires_approval === true },
      ...{ danger: tool.danger ?? null, description: spec.description },
    })),
  }
}

function render({ agent_id, budget_tokens, offered_tokens, all_tokens, tools }: GivenTools): string {
  const width = (values: readonly string[]) => Math.max(...values.map(each => each.length)) + 2
  const [names, kits, owners] = [
    width(['TOOL', ...tools.map(({ name }) => name)]),
    width(['TOOLKIT', ...tools.map(({ toolkit }) => toolkit)]),
    width(['PLUGIN', ...tools.map(({ owner }) => owner)]),
  ]
  const row = (name: string, kit: string, owner: string, tokens: string, rest: string) =>
    `${name.padEnd(names)}${kit.padEnd(kits)}${owner.padEnd(owners)}${tokens.padStart(6)}  ${rest}`.trimEnd()
  const rows = tools.map(({ name, toolkit, owner, tokens, offered, idempotent, requires_approval, danger }) => {
    const flags = [
      !offered && 'when found',
      idempotent && 'repeatable',
      requires_approval && 'needs approval',
      danger && `can harm: ${danger}`,
    ]
    return row(name, toolkit, owner, String(tokens), flags.filter(Boolean).join(', '))
  })
  const shown = tools.filter(({ offered }) => offered).length
  const limit =
    budget_tokens === 0 ? "at most a fifth of the model's window" : `daemon.tool_prompt_tokens is ${budget_tokens}`
  const found =
    shown < tools.length
      ? ` The other ${tools.length - shown} are found with find_tools; all at once would be ${all_tokens}.`
      : ''
  return [
    `${agent_id ?? 'Every agent'} sees ${shown} tools, about ${offered_tokens} tokens of each prompt (${limit}).${found}`,
    '',
    row('TOOL', 'TOOLKIT', 'PLUGIN', 'TOKENS', ''),
    ...rows,
  ].join('\n')
}
