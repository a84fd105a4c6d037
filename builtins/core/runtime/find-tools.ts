import { z } from '#kernel'
import { type Tool, type Toolkit, tool } from '#tools/toolkits/contract'
import { FIND_TOOLS } from './contract.ts'

/** So many tools does one look-up give. */
const HITS = 8
const LONGEST_DESCRIPTION = 160
/** A word of the name says most about a tool, then the name of its toolkit, then what it says of itself. */
const WEIGHTS = { name: 4, toolkit: 2, description: 1, parameters: 1 }
/** Words that say nothing about a tool. */
const STOP = new Set(
  'a an and are by can for from i in is it me my need of on or some that the this to tool tools want with'.split(' '),
)

/** A tool that can be looked up. */
export interface Findable {
  tool: Tool
  toolkit: Toolkit['name']
}

/** The tool by which an agent finds those of its tools that are not on offer. Naming one is what puts it there. */
export function findTools(all: readonly Findable[], hidden: readonly Findable[]): Tool {
  const toolkits = [...new Set(hidden.map(({ toolkit }) => toolkit))].join(', ')
  return tool({
    name: FIND_TOOLS,
    description: `You have ${hidden.length} more tools than are shown, of: ${toolkits}. Find them by what they do; you can call those found from your next step on.`,
    parameters: z.object({ query: z.string().trim().min(1).max(500).describe('What you want to do, in a few words') }),
    idempotent: true,
    execute({ query }) {
      const hits = ranked(all, query).slice(0, HITS)
      if (hits.length > 0) return hits.map(({ tool }) => lineOf(tool)).join('\n')
      return `[No tool is described by these words; try others. There are tools of: ${toolkits}.]`
    },
  })
}

/** Those that share words with the query, best first: each word counts the more, the fewer tools have it. */
export function ranked(all: readonly Findable[], query: string): Findable[] {
  const documents = all.map(weightsOf)
  const scores = new Map<Findable, number>()
  for (const word of new Set(wordsOf(query))) {
    const having = all.flatMap((each, at) => {
      const weights = [...(documents[at] ?? [])].flatMap(([other, weight]) => (isLike(word, other) ? weight : []))
      return weights.length > 0 ? [{ each, weight: Math.max(...weights) }] : []
    })
    const rarity = Math.log((all.length + 1) / (having.length + 1)) + 0.1
    for (const { each, weight } of having) scores.set(each, (scores.get(each) ?? 0) + weight * rarity)
  }
  return [...scores].sort(([, a], [, b]) => b - a).map(([each]) => each)
}

function weightsOf({ tool, toolkit }: Findable): Map<string, number> {
  const weights = new Map<string, number>()
  const texts = { name: tool.name, toolkit, description: tool.description, parameters: parametersOf(tool) }
  for (const [part, weight] of Object.entries(WEIGHTS)) {
    for (const word of wordsOf(texts[part as keyof typeof texts])) {
      weights.set(word, Math.max(weights.get(word) ?? 0, weight))
    }
  }
  return weights
}

/** The words of a text, folded, without the endings that English puts to them. */
function wordsOf(text: string): string[] {
  const words =
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
  return words.filter(word => !STOP.has(word)).map(stem)
}

/** The same, or one grown out of the other: sharp, sharpen. */
function isLike(a: string, b: string): boolean {
  return a === b || (Math.min(a.length, b.length) >= 4 && (a.startsWith(b) || b.startsWith(a)))
}

function stem(word: string): string {
  if (word.length < 5) return word.replace(/(?<=\w\w)s$/, '')
  return word.replace(/(?:ing|ed|es|s)$/, '').replace(/(?<=\w\w)e$/, '')
}

function parametersOf({ parameters }: Tool): string {
  return parameters instanceof z.ZodObject ? Object.keys(parameters.shape).join(', ') : ''
}

function lineOf(tool: Tool): string {
  const { name, description } = tool
  const line = description.replace(/\s+/g, ' ')
  const cut = line.length > LONGEST_DESCRIPTION ? `${line.slice(0, LONGEST_DESCRIPTION - 1)}…` : line
  return `- ${name}(${parametersOf(tool)}): ${cut}`
}
