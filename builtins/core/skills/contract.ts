import type { AgentRow } from '#core/agents/contract'
import type { Profile } from '#core/profiles/contract'
import { defineError, point, token, z } from '#kernel'

/** Sources of skills. If two skills have the same name, the one from the earlier source is used. */
export const SKILL_SOURCES = ['project', 'folder', 'user', 'plugin', 'package'] as const

/** A skill: a folder with `SKILL.md` in the Agent Skills format. */
export const Skill = z
  .object({
    name: z.string().meta({ examples: ['tdd'] }),
    description: z.string().describe('What it does and when to use it'),
    source: z
      .enum(SKILL_SOURCES)
      .describe(
        "project: the project's files; folder: the folder that an agent works in; user: ~/.agents/skills; plugin: a folder that a plugin added; package: included in svc",
      ),
    file: z.string().describe('Path of its SKILL.md'),
    license: z.string().nullable(),
    allowed_tools: z.string().nullable().describe('The field allowed-tools as written in the file; it grants no tools'),
    metadata: z.record(z.string(), z.string()),
    error: z.string().nullable().describe('Why the skill cannot be used; null if it can'),
    shadowed_by: z.string().nullable().describe('File of the skill with the same name that is used instead'),
  })
  .meta({ id: 'Skill' })
export type Skill = z.infer<typeof Skill>

export const SkillDetail = Skill.extend({
  body: z.string().describe('The instructions, which an agent reads when it loads the skill'),
  files: z.array(z.string()).describe('Other files in its folder'),
})
export type SkillDetail = z.infer<typeof SkillDetail>

/** A plugin's folder of skills. Each subfolder contains a `SKILL.md`. */
export interface SkillFolder {
  name: string
  /** Absolute path. */
  folder: string
}
export const SkillFolders = point<SkillFolder>('skill_folders', {
  key: ({ name }) => name,
  has: { name: 'text', folder: 'text' },
})

export interface Skills {
  /** Returns a line for each skill that an agent with this profile may load; undefined if there are none. */
  catalogue(agent: AgentRow, profile: Profile): Promise<string | undefined>
}
export const Skills = token<Skills>('skills')

export const SkillNotFoundError = defineError({
  code: 'skill_not_found',
  status: 404,
  title: 'Skill not found',
  message: (p: { name: string; known: string[] }) =>
    `There is no skill "${p.name}". ${p.known.length > 0 ? `There are: ${p.known.join(', ')}` : 'There are none'}.`,
})
