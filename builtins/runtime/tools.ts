import { type PluginHandle, type Tool, type Toolkit, Toolkits } from '#kernel'
import type { Profile } from '../profiles/contract.ts'
import type { Runtime, ToolSet } from './contract.ts'
import { finishGoal } from './finish.ts'
import { schemaOf } from './tool-call.ts'

/** Tool sets by what a profile asks for, worked out anew when a toolkit comes or goes. */
export function toolSets(svc: PluginHandle): Runtime['toolsFor'] {
  const made = new Map<string, ToolSet>()
  svc.onChange(Toolkits, () => made.clear())
  return ({ toolkits, tools }: Profile, only?: readonly string[]) => {
    const key = JSON.stringify([toolkits, tools, only])
    let set = made.get(key)
    if (!set) {
      const all = svc.list(Toolkits).filter(({ name }) => !only || only.includes(name))
      set = build(all, toolkits, tools, only ? [] : [finishGoal])
      made.set(key, set)
    }
    return set
  }
}

/** An empty list of tools means all, as in files written for earlier programs. */
function build(
  all: readonly Toolkit[],
  toolkits: readonly string[] | null,
  names: readonly string[] | null,
  own: readonly Tool[],
): ToolSet {
  const given = all.filter(toolkit => toolkits === null || toolkits.includes(toolkit.name))
  const wanted = given.flatMap(toolkit => toolkit.tools).filter(tool => !names?.length || names.includes(tool.name))
  const byName = new Map([...wanted, ...own].map(tool => [tool.name, tool]))
  return {
    specs: [...byName.values()].map(tool => ({
      name: tool.name,
      description: tool.description,
      parameters: schemaOf(tool),
    })),
    instructions: given.flatMap(toolkit => toolkit.instructions ?? []),
    find: name => byName.get(name),
  }
}
