import { estimateTokens, type ToolSpec } from '#core/models/contract'
import type { Profile } from '#core/profiles/contract'
import type { PluginHandle } from '#kernel'
import { type Tool, type Toolkit, Toolkits } from '#tools/toolkits/contract'
import type { RuntimeConfig } from './config.ts'
import type { ToolSet } from './contract.ts'
import { type Findable, findTools } from './find-tools.ts'
import { finishGoal } from './finish.ts'
import { type Candidate, Offer, rankOf } from './offer.ts'
import { briefSchemaOf } from './tool-call.ts'

/** Which tools are given: those of a profile, or all; with `only` those of these toolkits, and no `finish_goal`. */
export type Wanted = Pick<Profile, 'toolkits' | 'tools'>

type Given = Findable & Candidate & { owner: string }

/** A tool set with where its tools are from. */
export interface DescribedSet extends ToolSet {
  tools: readonly Given[]
  instructions_tokens: number
}

/** What belongs to the runtime itself. */
const OWN = 'runtime'

/** Tool sets by what a profile asks for, worked out anew when a toolkit comes or goes. */
export function toolSets(svc: PluginHandle, config: RuntimeConfig) {
  const made = new Map<string, DescribedSet>()
  svc.onChange(Toolkits, () => made.clear())
  return (profile: Wanted, only?: readonly string[]): DescribedSet => {
    const { tool_prompt_tokens } = config
    const key = JSON.stringify([profile.toolkits, profile.tools, only, tool_prompt_tokens])
    let set = made.get(key)
    if (!set) {
      set = build(svc, profile, only, tool_prompt_tokens || Number.POSITIVE_INFINITY)
      if (config.toolkit_cache) made.set(key, set)
    }
    return set
  }
}

function build(
  svc: PluginHandle,
  { toolkits, tools: names }: Wanted,
  only: readonly string[] | undefined,
  budget: number,
): DescribedSet {
  const kits = svc.contributions(Toolkits).filter(({ value }) => isAmong(value, only) && isAmong(value, toolkits))
  const instructions = kits.flatMap(({ value }) => value.instructions ?? [])
  const instructions_tokens = estimateTokens(instructions.join('\n\n').length)
  // An empty list of tools means all, as in files written for earlier programs.
  const isWanted = ({ name }: Tool) => !names?.length || names.includes(name)
  const given = kits.flatMap(({ value: { name: toolkit, everyday = false, tools }, owner }, kit) =>
    tools.filter(isWanted).map((tool, place) => {
      // Whoever names tools names the most important first.
      const rank = names?.length ? names.indexOf(tool.name) : rankOf(place, kit, everyday)
      return { tool, toolkit, owner, rank, always: false, spec: specOf(tool) }
    }),
  )
  const own = (tool: Tool): Given => ({ tool, toolkit: OWN, owner: OWN, rank: 0, always: true, spec: specOf(tool) })
  const usual: readonly Given[] = [...given, ...(only ? [] : [own(finishGoal)])]
  const within = (tokens: number) => {
    let all = usual
    let offer = new Offer(all, tokens - instructions_tokens)
    // What finds the others says of what they are, and takes tokens itself: the second round knows what it has to say.
    for (let round = 0; round < 2 && offer.first.length < all.length; round++) {
      const shown = new Set(offer.first.map(({ name }) => name))
      all = [
        ...usual,
        own(
          findTools(
            given,
            given.filter(({ spec }) => !shown.has(spec.name)),
          ),
        ),
      ]
      offer = new Offer(all, tokens - instructions_tokens)
    }
    return { tokens, all, offer }
  }
  const { all, offer } = within(budget)
  let narrower: ReturnType<typeof within> | undefined
  const byName = new Map([...all, own(findTools(given, given)), ...all].map(({ tool }) => [tool.name, tool]))
  return {
    specs: offer.first,
    instructions,
    find: name => byName.get(name),
    offered(messages, tokens = budget) {
      if (tokens >= budget) return offer.after(messages)
      if (narrower?.tokens !== tokens) narrower = within(tokens)
      return narrower.offer.after(messages)
    },
    tools: all,
    instructions_tokens,
  }
}

/** Whether a list names a toolkit, or the group that it is in. */
function isAmong({ name, group = name }: Toolkit, names: readonly string[] | null | undefined): boolean {
  return !names || names.includes(name) || names.includes(group)
}

function specOf(tool: Tool): ToolSpec {
  return { name: tool.name, description: tool.description, parameters: briefSchemaOf(tool) }
}
