import { join } from 'node:path'
import type { AgentRow } from '#core/agents/contract'
import type { Profile } from '#core/profiles/contract'
import type { PluginHandle } from '#kernel'
import { sanitizeLine } from '#lib/sanitize'
import { markUntrusted } from '#safety/net/contract'
import type { FoundSkill, SkillFiles } from './skill-files.ts'

/** Value in a profile's `skills` that means all skills found. */
const ALL = '*'
/** Maximum number of lines in a catalogue. */
const MAX_LINES = 50

const INTRODUCTION =
  'Skills: instructions for kinds of work. Before work that fits one of these skills, load it with read_skill and follow it.'

/** Returns the skills that an agent with this profile may load. */
export async function skillsFor(files: SkillFiles, agent: AgentRow, { skills }: Profile): Promise<FoundSkill[]> {
  if (skills.length === 0) return []
  const wanted = skills.map(name => name.replaceAll('_', '-'))
  const usable = (await files.list(agent.workspace || undefined)).filter(
    ({ error, shadowed_by }) => error === null && shadowed_by === null,
  )
  const named = wanted.flatMap(name => usable.filter(skill => skill.name === name))
  return wanted.includes(ALL) ? [...named, ...usable.filter(skill => !named.includes(skill))] : named
}

/** Returns a line for each skill. Those from the agent's working folder are marked as untrusted. */
export function catalogueText(skills: readonly FoundSkill[]): string | undefined {
  if (skills.length === 0) return undefined
  const shown = skills.slice(0, MAX_LINES)
  const lines = (some: readonly FoundSkill[]) =>
    some.map(({ name, description }) => `- ${name}: ${sanitizeLine(description)}`).join('\n')
  const ofFolder = shown.filter(({ source }) => source === 'folder')
  const others = shown.filter(skill => !ofFolder.includes(skill))
  return [
    INTRODUCTION,
    ...(others.length > 0 ? [lines(others)] : []),
    ...(ofFolder.length > 0
      ? [markUntrusted('the description of the skills in your working folder, as written there', lines(ofFolder))]
      : []),
  ].join('\n')
}

/** Creates a function that warns once about each unusable skill that a profile names. */
export function skillWarnings(svc: PluginHandle, files: SkillFiles) {
  const warned = new Set<string>()
  return async (profile: Profile, found: readonly FoundSkill[]): Promise<void> => {
    for (const name of profile.skills) {
      const key = `${profile.name} ${name}`
      const plain = name.replaceAll('_', '-')
      if (name === ALL || warned.has(key) || found.some(skill => skill.name === plain)) continue
      const bad = (await files.list()).find(skill => skill.name === plain)
      // Skills as single files, which profiles read.
      if (!bad && [name, plain].some(each => svc.ports.stampOf(join(svc.project.root, 'skills', `${each}.md`))))
        continue
      warned.add(key)
      const problem = bad ? `is not used: ${bad.error}` : 'does not exist'
      svc.log.warn(
        {},
        `profile "${profile.name}" names the skill "${name}", which ${problem}; list all skills with: svc skills`,
      )
    }
  }
}
