import type { Message, ToolSpec } from '#core/models/contract'
import type { Profile } from '#core/profiles/contract'
import { type PluginHandle, token } from '#kernel'
import { textTokens } from '#lib/text-tokens'
import { getIn, isTree, type Tree } from '#lib/tree'
import { type Tool, type Toolkit, Toolkits } from '#tools/toolkits/contract'
import type { RuntimeConfig } from './config.ts'
import { FIND_TOOLS, PROFILE_TOOLKITS, type ToolSet } from './contract.ts'
import { type Findable, findTools } from './find-tools.ts'
import { finishGoal } from './loop/finish.ts'
import { briefSchemaOf } from './loop/tool-call.ts'
import { PLUGIN_FILES_GROUP } from './names.ts'
import { type Candidate, Offer } from './offer.ts'

/** Profile fields that select tools. */
export type ToolSelection = Pick<Profile, 'toolkits' | 'tools' | 'core' | 'skills'>

/** Restriction to toolkits of one-shot tasks. */
type Only = readonly string[] | typeof PROFILE_TOOLKITS

type Given = Findable & Candidate & { owner: string }

/** A tool set with the origin of its tools. */
export interface DescribedSet extends ToolSet {
  tools: readonly Given[]
  instructions_tokens: number
}

/** Owner of the runtime's own tools. */
const OWN = 'runtime'
/** Toolkit of questions that wait for an answer. A person who gives a task reads a question in its answer. */
const QUESTIONS = 'questions'
/** Toolkit that is added for profiles with skills. */
const SKILLS = 'skills'
/** The family of the tools that a profile names one by one. */
const NAMED = 'named'
/** Maximum number of cached tool sets, of some 50 KiB each: a task may name any of the toolkits. */
const MAX_SETS = 200
/** Maximum number of replaced references in a schema, and its size as JSON with them replaced, in characters. */
const MAX_REFERENCES = 100
const MAX_INLINE_CHARS = 16_000

/** The tool sets of profiles. */
export const ToolSets = token<ReturnType<typeof toolSets>>('runtime/tool-sets')

/** Creates the function that returns the tool set of a profile. Cached until a toolkit is added or removed. */
export function toolSets(svc: PluginHandle, config: RuntimeConfig) {
  const made = new Map<string, DescribedSet>()
  svc.onChange(Toolkits, () => made.clear())
  return (profile: ToolSelection, only?: Only): DescribedSet => {
    const { tool_prompt_tokens } = config
    const key = JSON.stringify([
      profile.toolkits,
      profile.tools,
      profile.core,
      profile.skills.length > 0,
      only ?? null,
      tool_prompt_tokens,
    ])
    let set = made.get(key)
    if (!set) {
      set = build(svc, profile, only, tool_prompt_tokens || Number.POSITIVE_INFINITY)
      if (made.size >= MAX_SETS) made.delete(made.keys().next().value!)
      if (config.toolkit_cache) made.set(key, set)
    }
    return set
  }
}

function build(svc: PluginHandle, profile: ToolSelection, only: Only | undefined, budget: number): DescribedSet {
  const given = givenTools(svc, profile, only === PROFILE_TOOLKITS ? undefined : only).filter(
    ({ tool, toolkit }) =>
      tool.only_in !== (only ? 'goal' : 'task') && (only !== PROFILE_TOOLKITS || toolkit !== QUESTIONS),
  )
  const notIn = (offered: readonly ToolSpec[]) => {
    const names = new Set(offered.map(({ name }) => name))
    return given.filter(({ spec }) => !names.has(spec.name))
  }
  const own = (tool: Tool): Given => ({
    tool,
    toolkit: OWN,
    owner: OWN,
    family: OWN,
    always: true,
    spec: specOf(tool),
  })
  // Found tools come last, so that the beginning of the list stays the same.
  const core = given.filter(({ family }) => family !== undefined)
  const toFind = given.filter(({ family }) => family === undefined)
  const finish = only ? [] : [own(finishGoal)]
  const instructions_tokens = textTokens(instructionsOf(core).join('\n\n'))
  const within = (tokens: number, isShort = false) => {
    const inForm = (tools: readonly Given[]) => (isShort ? tools.map(withShortSpec) : tools)
    let all = inForm([...core, ...finish, ...toFind])
    let offer = new Offer(all, tokens - instructions_tokens)
    // The description of find_tools names the hidden tools and takes tokens itself, so the second round uses the first
    // one's result.
    for (let round = 0; round < 2 && offer.first.length < all.length; round++) {
      all = inForm([...core, ...finish, own(findTools(given, notIn(offer.first))), ...toFind])
      offer = new Offer(all, tokens - instructions_tokens)
    }
    return { tokens, all, offer }
  }
  const { all, offer } = within(budget)
  let narrower: ReturnType<typeof within> | undefined
  const byName = new Map([...all, own(findTools(given, given)), ...all].map(({ tool }) => [tool.name, tool]))
  const shown = new Set(offer.first.map(({ name }) => name))
  const toolsAfter = (messages: readonly Message[], tokens = budget) => {
    if (tokens >= budget) return offer.offerAfter(messages)
    if (narrower?.tokens !== tokens) narrower = within(tokens, true)
    return narrower.offer.offerAfter(messages)
  }
  return {
    specs: offer.first,
    instructions: instructionsOf(core.filter(({ spec }) => shown.has(spec.name))),
    names: all.map(({ tool }) => tool.name),
    find: (name, offered) => {
      const found = byName.get(name)
      return found && name === FIND_TOOLS && offered ? findTools(given, notIn(offered())) : found
    },
    toolsAfter,
    offered: toolsAfter,
    tools: all,
    instructions_tokens,
  }
}

/** Returns the tools of a profile: first those offered initially, in the order of the profile. */
function givenTools(svc: PluginHandle, profile: ToolSelection, only: readonly string[] | undefined): Given[] {
  const { toolkits, tools: names, core, skills } = profile
  // The list of an agent's skills names the tool that loads them.
  const loadsSkills = ({ name }: Toolkit) => name === SKILLS && skills.length > 0
  const kits = svc
    .contributions(Toolkits)
    .filter(({ value }) => isAmong(value, only) && (isAmong(value, toolkits) || loadsSkills(value)))
  const inView = only ?? core ?? toolkits
  // Profiles cannot know the plugins of a project.
  const isPlugins = ({ group, everyday }: Toolkit) => group === PLUGIN_FILES_GROUP && everyday
  const placeOf = (kit: Toolkit) => {
    const place = inView?.findIndex(name => name === kit.name || name === kit.group) ?? (kit.everyday ? 0 : -1)
    return place < 0 && !only && (loadsSkills(kit) || isPlugins(kit)) ? (inView?.length ?? 0) : place
  }
  const ordered = kits.toSorted((a, b) => rank(placeOf(a.value)) - rank(placeOf(b.value)))
  const given = ordered.flatMap(({ value: kit, owner }) => {
    const { name: toolkit, instructions } = kit
    const familyOf = ({ hidden }: Tool) => (placeOf(kit) >= 0 && !hidden ? toolkit : undefined)
    return kit.tools.map(
      (tool): Given => ({
        tool,
        toolkit,
        instructions,
        owner,
        family: familyOf(tool),
        always: false,
        spec: specOf(tool),
      }),
    )
  })
  // An empty list of tools means all, for compatibility with older files.
  if (!names?.length) return given
  const named = given.filter(
    ({ tool, toolkit }) => names.includes(tool.name) || (toolkit === SKILLS && skills.length > 0 && !tool.hidden),
  )
  return named
    .map(each => ({ ...each, family: NAMED }))
    .sort((a, b) => names.indexOf(a.tool.name) - names.indexOf(b.tool.name))
}

/** Sorts items without a position after all others. */
function rank(place: number): number {
  return place < 0 ? Number.MAX_SAFE_INTEGER : place
}

function instructionsOf(given: readonly Given[]): string[] {
  return [...new Set(given.flatMap(({ instructions }) => instructions ?? []))]
}

/** Returns whether a list contains a toolkit or its group. A missing list contains all. */
function isAmong({ name, group = name }: Toolkit, names: readonly string[] | null | undefined): boolean {
  return !names || names.includes(name) || names.includes(group)
}

function specOf(tool: Tool): ToolSpec {
  return { name: tool.name, description: tool.description, parameters: inlineReferences(briefSchemaOf(tool)) }
}

/**
 * Returns a tool with a short specification for a small context window: the first sentence of its description, and the
 * names and types of its parameters. A call with wrong arguments gets the full schema.
 */
function withShortSpec(given: Given): Given {
  const { name, description, parameters } = given.spec
  const [sentence = description] = description.split(/(?<=\.)\s+(?=[A-Z])/)
  // The description of find_tools names the toolkits that are not shown.
  const short = name === FIND_TOOLS ? description : sentence
  return { ...given, spec: { name, description: short, parameters: typesOnly(parameters) as Tree } }
}

/** Keywords of a schema that a model can call a tool without. */
const DISPENSABLE = /^(?:description|default|min\w+|max\w+)$/

function typesOnly(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(typesOnly)
  if (!isTree(schema)) return schema
  const { properties, ...rest } = schema
  const kept = Object.entries(rest).filter(([keyword]) => !DISPENSABLE.test(keyword))
  const types = isTree(properties) && Object.entries(properties).map(([name, each]) => [name, typesOnly(each)])
  return {
    ...Object.fromEntries(kept.map(([keyword, each]) => [keyword, typesOnly(each)])),
    ...(types ? { properties: Object.fromEntries(types) } : {}),
  }
}

/**
 * Replaces references inside a schema by what they name, because some servers refuse them. A schema keeps them if it
 * contains itself, would become too large, or has others.
 */
function inlineReferences(schema: Tree): Tree {
  const { $defs: _, definitions: _old, ...rest } = schema
  let left = MAX_REFERENCES
  const inline = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inline)
    if (!isTree(value)) return value
    const { $ref, ...beside } = value
    if (typeof $ref !== 'string')
      return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, inline(each)]))
    const target = getIn(schema, $ref.replace(/^#\//, '').split('/'))
    left = isTree(target) ? left - 1 : -1
    return left < 0 ? value : inline({ ...(target as Tree), ...beside })
  }
  const whole = inline(rest) as Tree
  return left < 0 || JSON.stringify(whole).length > MAX_INLINE_CHARS ? schema : whole
}
