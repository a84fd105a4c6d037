import { z } from '#kernel'
import { type Tool, type Toolkit, tool } from '#tools/toolkits/contract'
import { FIND_TOOLS } from './contract.ts'

/** Maximum number of tools found by one search. */
const MAX_HITS = 8
/** Maximum length of a description in the results, in characters. */
const MAX_DESCRIPTION_CHARS = 200
/** Weights of the searched fields. A match in the name counts most, then the toolkit's name, then the description. */
const WEIGHTS = { name: 3, toolkit: 1.5, description: 1, parameters: 0.5 }
/** Parameters of Okapi BM25: saturation of repeated words, and penalty for long texts. */
const K1 = 1.2
const B = 0.5
/** Words that are not searched for. */
const STOP_WORDS = new Set(
  'a an and are as at be by can for from how i in into is it its me my need of on or some such that the them then this to tool tools want which with you your'.split(
    ' ',
  ),
)

/** A tool that can be searched for. */
export interface Findable {
  tool: Tool
  toolkit: Toolkit['name']
  /** The toolkit's instructions in the prompt, if it is offered. */
  instructions?: string | undefined
}

/**
 * Creates the tool by which an agent finds tools that are not offered yet. Tools that it returns are offered from the
 * next step on.
 */
export function findTools(all: readonly Findable[], hidden: readonly Findable[]): Tool {
  const toolkits = [...new Set(hidden.map(({ toolkit }) => toolkit))].join(', ')
  const shown = new Set(all.filter(each => !hidden.includes(each)).map(({ toolkit }) => toolkit))
  return tool({
    name: FIND_TOOLS,
    description: `Find more tools when those shown do not do what you need. You have ${hidden.length} more, for: ${toolkits}. Say what you want to do, such as "show the changes of a file". Those found can be called from your next step on.`,
    parameters: z.object({ query: z.string().trim().min(1).max(500).describe('What you want to do, in a few words') }),
    read_only: true,
    execute({ query }) {
      const hits = rankTools(all, query).slice(0, MAX_HITS)
      if (hits.length === 0) return `[No tool matches these words; try others. There are tools for: ${toolkits}.]`
      // The prompt already has the instructions of toolkits that are shown.
      const instructionsOfHits = hits.flatMap(({ toolkit, instructions }) =>
        instructions && !shown.has(toolkit) ? instructions : [],
      )
      return [...hits.map(({ tool }) => formatTool(tool)), ...new Set(instructionsOfHits)].join('\n')
    },
  })
}

/** Returns the tools that share words with the query, best first, by BM25 over weighted fields. */
export function rankTools(all: readonly Findable[], query: string): Findable[] {
  const documents = all.map(weightedWordsOf)
  const lengths = documents.map(words => words.reduce((sum, { weight }) => sum + weight, 0))
  const average = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, all.length)
  const scores = all.map(() => 0)
  for (const word of new Set(wordsOf(query))) {
    const counts = documents.map(words =>
      words.reduce((sum, { word: other, weight }) => (isLike(word, other) ? sum + weight : sum), 0),
    )
    const matching = counts.filter(count => count > 0).length
    const rarity = Math.log(1 + (all.length - matching + 0.5) / (matching + 0.5))
    for (const [index, count] of counts.entries()) {
      const lengthNorm = K1 * (1 - B + (B * lengths[index]!) / average)
      scores[index]! += (rarity * count * (K1 + 1)) / (count + lengthNorm)
    }
  }
  const found = all.map((each, index) => ({ each, score: scores[index]! })).filter(({ score }) => score > 0)
  return found.sort((a, b) => b.score - a.score).map(({ each }) => each)
}

function weightedWordsOf({ tool, toolkit }: Findable): { word: string; weight: number }[] {
  const texts = { name: tool.name, toolkit, description: tool.description, parameters: parametersOf(tool) }
  return Object.entries(WEIGHTS).flatMap(([field, weight]) =>
    wordsOf(texts[field as keyof typeof texts]).map(word => ({ word, weight })),
  )
}

/** Returns the words of a text in lower case, without English suffixes. */
function wordsOf(text: string): string[] {
  const words =
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
  return words.filter(word => !STOP_WORDS.has(word)).map(stem)
}

/** Returns whether two words are equal or one extends the other, such as sharp and sharpen. */
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

function formatTool(tool: Tool): string {
  const { name, description } = tool
  const line = description.replace(/\s+/g, ' ')
  const shortened = line.length > MAX_DESCRIPTION_CHARS ? `${line.slice(0, MAX_DESCRIPTION_CHARS - 1)}…` : line
  return `- ${name}(${parametersOf(tool)}): ${shortened}`
}
