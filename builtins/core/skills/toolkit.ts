import { join } from 'node:path'
import { Agents } from '#core/agents/contract'
import { type PluginHandle, z } from '#kernel'
import { recordInput } from '#lib/recording-context'
import { markUntrusted } from '#safety/net/contract'
import { Jail } from '#safety/sandbox/contract'
import { type ToolCall, ToolError, type Toolkit, tool } from '#tools/toolkits/contract'
import { skillsFor } from './catalogue.ts'
import { propose } from './proposals.ts'
import type { FoundSkill, SkillFiles } from './skill-files.ts'

const MAX_FILE_BYTES = 512 * 1024

/** Tools to load skills, and to propose new ones. */
export function skillsToolkit(svc: PluginHandle, files: SkillFiles): Toolkit {
  return {
    name: 'skills',
    tools: [
      tool({
        name: 'read_skill',
        description:
          'Load a skill of your list: its instructions, and the paths of its scripts and references. Use it before work that the skill fits, once per goal. Example: {"name": "tdd"}',
        parameters: z.object({ name: z.string().min(1).max(64).describe('Name of the skill, as in your list') }),
        read_only: true,
        keeps_result: true,
        async execute({ name }, call) {
          const agents = svc.use(Agents)
          const agent = await agents.find(call.agent_id)
          const known = await skillsFor(files, agent, await agents.profileOf(agent))
          const skill = known.find(each => each.name === name)
          if (!skill) {
            const names = known.map(each => each.name).join(', ')
            throw new ToolError({
              problem: `You have no skill "${name}". ${names ? `You have: ${names}.` : ''}`.trim(),
            })
          }
          return recordInput(`skill ${name}`, () => skillText(svc, files, call, skill))
        },
      }),
      tool({
        name: 'propose_skill',
        description:
          'Propose a new skill, or a new text for an existing one: a way of working that has proved useful and will be needed again. The operator decides; your goal waits for the decision. Not for facts: store those in memory.',
        parameters: z.object({
          name: z.string().min(1).max(64).describe('Name of the skill: a-z, 0-9 and hyphens'),
          description: z.string().trim().min(10).max(1024).describe('What it does, and when to use it'),
          body: z.string().trim().min(20).max(20_000).describe('The instructions, in Markdown'),
        }),
        hidden: true,
        execute: (draft, call) => propose(svc, call, draft),
      }),
    ],
  }
}

/**
 * Returns the instructions of a skill. Copies its other files to where the agent's tools can read them, unless they are
 * in its working folder.
 */
async function skillText(svc: PluginHandle, files: SkillFiles, call: ToolCall, skill: FoundSkill): Promise<string> {
  const { name, source, body, folder } = skill
  const names = await files.filesOf(skill)
  const at = source === 'folder' ? folder : await copyFiles(svc, call, skill, names)
  const beside = names.length > 0 ? `\n\nFiles of this skill:\n${names.map(path => join(at, path)).join('\n')}` : ''
  if (source === 'folder') return markUntrusted(`the skill ${name}, as written in your working folder`, body + beside)
  return body + beside
}

async function copyFiles(svc: PluginHandle, call: ToolCall, { name, folder }: FoundSkill, names: readonly string[]) {
  const { workspace, scratch = workspace } = call
  const reach = { workspace: scratch }
  for (const path of names) {
    const from = join(folder, path)
    if ((await svc.ports.files.stat(from)).size > MAX_FILE_BYTES) continue
    await svc.use(Jail).replace(reach, join('.skills', name, path), await svc.ports.files.readFile(from))
  }
  return join(scratch, '.skills', name)
}
