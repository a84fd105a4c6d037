import { AgentNotFoundError, Agents, AmbiguousAgentError } from '#core/agents/contract'
import { operation, type PluginHandle, z } from '#kernel'
import { PROFILE_TOOLKITS, ToolGate } from './contract.ts'
import { tokensOf } from './offer.ts'
import { type DescribedSet, type ToolSelection, ToolSets } from './tools.ts'

const GivenTool = z.object({
  name: z.string(),
  toolkit: z.string(),
  owner: z.string().describe('Plugin that provides the tool'),
  tokens: z.int().describe('Tokens of the tool in each prompt that contains it, estimated'),
  offered: z
    .boolean()
    .describe('Whether prompts contain the tool from the first step; agents find other tools with find_tools'),
  idempotent: z.boolean().describe('Whether a call may run again when it is unknown whether it ran'),
  requires_approval: z.boolean().describe('Whether calls wait for the operator, by the configuration'),
  danger: z.string().nullable().describe('Harm that the tool can do, such as "deletes"'),
  description: z.string(),
})

const GivenTools = z.object({
  agent_id: z
    .string()
    .nullable()
    .describe('Id of the agent; null: the tools are those of an agent whose profile sets no limits'),
  budget_tokens: z
    .int()
    .describe(
      "Maximum tokens of the tools in each prompt (daemon.tool_prompt_tokens); 0: a fifth of the model's context window",
    ),
  offered_tokens: z.int().describe('Tokens of the offered tools and of their instructions in each prompt, estimated'),
  all_tokens: z.int().describe('Tokens in each prompt if all tools were offered, estimated'),
  tools: z.array(GivenTool),
})
type GivenTools = z.infer<typeof GivenTools>

const EVERYTHING: ToolSelection = { toolkits: null, tools: null, core: null, skills: [] }

export const toolsList = operation({
  name: 'tools.list',
  summary: "List an agent's tools and their prompt size",
  description:
    "Returns the tools that the agent's profile allows, by toolkit, with the tokens that each takes in a prompt.",
  input: z.strictObject({
    id: z
      .string()
      .min(1)
      .max(128)
      .optional()
      .meta({ examples: ['coder-1a2b3c4d'] })
      .describe('Agent id, or name if it is unique; if omitted (over REST: *), all tools are listed'),
    for_tasks: z.boolean().default(false).describe('Whether to leave out the tools that only goals have'),
  }),
  output: GivenTools,
  http: { method: 'GET', path: '/agents/{id}/tools' },
  cli: { usage: 'tools [id]' },
  mcp: true,
  errors: [AgentNotFoundError, AmbiguousAgentError],
  render,
  async run({ id = '*', for_tasks }, { svc }) {
    const agent = id === '*' ? undefined : await svc.use(Agents).find(id)
    const profile = agent ? await svc.use(Agents).profileOf(agent) : EVERYTHING
    const set = svc.use(ToolSets)(profile, for_tasks ? PROFILE_TOOLKITS : undefined)
    return {
      agent_id: agent?.agent_id ?? null,
      budget_tokens: Number(svc.config.get('daemon.tool_prompt_tokens')),
      ...describeTools(svc, set),
    }
  },
})

/** Operations that list tools and their prompt cost. */
export const runtimeOperations = [toolsList]

function describeTools(svc: PluginHandle, set: DescribedSet): Omit<GivenTools, 'agent_id' | 'budget_tokens'> {
  const gate = svc.has(ToolGate) ? svc.use(ToolGate) : undefined
  const offered = new Set(set.specs.map(({ name }) => name))
  return {
    offered_tokens: tokensOf(set.specs) + set.instructions_tokens,
    all_tokens: tokensOf(set.tools.map(({ spec }) => spec)) + set.instructions_tokens,
    tools: set.tools.map(({ tool, spec, toolkit, owner }) => ({
      name: spec.name,
      toolkit,
      owner,
      tokens: tokensOf([spec]),
      offered: offered.has(spec.name),
      idempotent: tool.idempotent === true || tool.read_only === true,
      requires_approval: gate?.needsApproval(tool) === true,
      danger: tool.danger ?? null,
      description: spec.description,
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
      !offered && 'only with find_tools',
      idempotent && 'idempotent',
      requires_approval && 'needs approval',
      danger && `danger: ${danger}`,
    ]
    return row(name, toolkit, owner, String(tokens), flags.filter(Boolean).join(', '))
  })
  const shown = tools.filter(({ offered }) => offered).length
  const limit =
    budget_tokens === 0
      ? "at most a fifth of the model's context window"
      : `daemon.tool_prompt_tokens is ${budget_tokens}`
  const found =
    shown < tools.length
      ? ` The other ${tools.length - shown} are found with find_tools; all tools together would take ${all_tokens}.`
      : ''
  return [
    `${agent_id ?? 'Every agent'} sees ${shown} tools, about ${offered_tokens} tokens of each prompt (${limit}).${found}`,
    '',
    row('TOOL', 'TOOLKIT', 'PLUGIN', 'TOKENS', ''),
    ...rows,
  ].join('\n')
}
