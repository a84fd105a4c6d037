import { AgentNotFoundError, AgentRef, Agents, AmbiguousAgentError } from '#core/agents/contract'
import { operation, type PluginHandle, z } from '#kernel'
import { columns } from '#lib/columns'
import { BadFileError } from '#lib/yaml'
import { Skill, SkillDetail, SkillNotFoundError } from './contract.ts'
import { OwnSkillFiles } from './skill-files.ts'

const agent = AgentRef.optional().describe('Agent, by id or name, whose working folder is searched for skills too')

async function workspaceOf(svc: PluginHandle, agent: string | undefined): Promise<string | undefined> {
  return agent === undefined ? undefined : (await svc.use(Agents).find(agent)).workspace || undefined
}

export const skillsList = operation({
  name: 'skills.list',
  summary: 'List skills that profiles may name',
  description:
    'Returns the skills of the project, the user, plugins and the package. Of two skills with the same name, the first one is used.',
  input: z.object({ agent }),
  output: z.array(Skill),
  http: { method: 'GET', path: '/skills' },
  cli: { usage: 'skills', short: { agent: 'a' } },
  mcp: true,
  reach: 'store',
  errors: [AgentNotFoundError, AmbiguousAgentError],
  run: async ({ agent }, { svc }) => svc.use(OwnSkillFiles).list(await workspaceOf(svc, agent)),
  render: asTable,
})

export const skillsGet = operation({
  name: 'skills.get',
  summary: 'Show a skill in full',
  description: 'Returns the instructions of the skill, as an agent reads them, and the other files in its folder.',
  input: z.object({
    name: z
      .string()
      .min(1)
      .max(64)
      .meta({ examples: ['tdd'] })
      .describe("A skill's name"),
    agent,
  }),
  output: SkillDetail,
  http: { method: 'GET', path: '/skills/{name}' },
  cli: { usage: 'skills show <name>', short: { agent: 'a' } },
  mcp: true,
  reach: 'store',
  errors: [SkillNotFoundError, BadFileError, AgentNotFoundError, AmbiguousAgentError],
  async run({ name, agent }, { svc }) {
    const files = svc.use(OwnSkillFiles)
    const skill = await files.find(name, await workspaceOf(svc, agent))
    return { ...skill, files: await files.filesOf(skill) }
  },
  render: ({ name, description, file, files: beside, body }) =>
    [`${name}: ${description}`, `  ${file}`, ...beside.map(path => `  ${path}`), '', body].join('\n'),
})

export const skillOperations = [skillsList, skillsGet]

function asTable(skills: readonly Skill[]): string {
  if (skills.length === 0) return 'There are no skills. To add one, create the file skills/<name>/SKILL.md'
  const rows = skills.map(({ name, source, description, error, shadowed_by }) => [
    name,
    source,
    error
      ? `not usable: ${error}`
      : shadowed_by
        ? `not used: ${shadowed_by} is used instead`
        : description.slice(0, 100),
  ])
  return columns([['NAME', 'SOURCE', 'DESCRIPTION'], ...rows]).join('\n')
}
