import { z } from '#kernel'
import { type Tool, type Toolkit, tool } from '#tools/toolkits/contract'
import { FIND_TOOLS } from './contract.ts'

/** Maximum number of tools found by one search. */
const MAX_HITS = 6
/** Maximum length of a description in the results, in characters. */
const MAX_DESCRIPTION_CHARS = 200
/**
 * Weights of the searched fields. A match in the name counts most, and one with the verb that the description begins
 * with; then the toolkit's name, then the rest of the description.
 */
const WEIGHTS = { name: 3, verb: 2, toolkit: 1.5, description: 1, parameters: 0.5 }
/** Parameters of Okapi BM25: saturation of repeated words, and penalty for long texts. */
const K1 = 1.2
const B = 0.5
/** Minimum share, of the best match's score and of its words weighted by their rarity, that a hit reaches. */
const MIN_SHARE = 0.5
/** Maximum number of letters by which a word may extend another. */
const MAX_ENDING_CHARS = 3
/** What separates the parts of a query. */
const SEPARATORS = /(?:[;,]|\s(?:and|then)\b)+/i
/** Words that are not searched for. */
const STOP_WORDS = new Set(
  'a about all an and any are as at be been before by can could did do does for from had has have how i in into is it its me my need of on or our please should some someone something such that the their them then there they thing things this to tool tools use want was we were what when where which who will with would you your'.split(
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
  const hint =
    hidden.length === 0 ? '; all that you have are shown.' : `; try others. There are tools for: ${toolkits}.`
  const shown = new Set(all.filter(each => !hidden.includes(each)).map(({ toolkit }) => toolkit))
  return tool({
    name: FIND_TOOLS,
    description: `Find more tools when those shown do not do what you need. You have ${hidden.length} more, for: ${toolkits}. Say in a few words what you want to do, such as "show the changes of a file". Those found can be called from your next step on.`,
    parameters: z.object({ query: z.string().trim().min(1).max(500) }),
    read_only: true,
    execute({ query }) {
      const hits = rankTools(all, query).slice(0, MAX_HITS)
      if (hits.length === 0) return `[No tool matches these words${hint}]`
      const isHidden = (each: Findable) => hidden.includes(each)
      const found = hits.filter(isHidden)
      const inView = hits.filter(each => !isHidden(each)).map(({ tool }) => `\`${tool.name}\``)
      const [best] = hits
      return [
        ...found.map(({ tool }) => formatTool(tool)),
        ...(inView.length > 0 ? [`You already have: ${inView.join(', ')}.`] : []),
        // The prompt already has the instructions of toolkits that are shown.
        ...(best?.instructions && !shown.has(best.toolkit) ? [best.instructions] : []),
      ].join('\n')
    },
  })
}

/**
 * Returns the tools that match the query, best first. For a query of several parts, such as "send a message and
 * remember a fact", these are the best hit of each part, then the second of each, and so on.
 */
export function rankTools(all: readonly Findable[], query: string): Findable[] {
  const parts = query.split(SEPARATORS).filter(part => wordsOf(part).length > 0)
  // In "search and replace in files", a single word is not a part of its own.
  const isDivided = parts.every(part => wordsOf(part).length > 1)
  const rankings = (isDivided ? parts : [query]).map(part => rankForPart(all, part))
  const rounds = all.map((_, place) => rankings.flatMap(ranking => ranking[place] ?? []))
  return [...new Set(rounds.flat())]
}

/** Returns the tools that share enough words with a part of a query, best first, by BM25 over weighted fields. */
function rankForPart(all: readonly Findable[], part: string): Findable[] {
  const documents = all.map(weightedWordsOf)
  const lengths = documents.map(words => words.reduce((sum, { weight }) => sum + weight, 0))
  const average = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, all.length)
  const candidates = all.map(each => ({ each, score: 0, matched: 0 }))
  for (const word of new Set(wordsOf(part))) {
    const counts = documents.map(words =>
      words.reduce((sum, { word: other, weight }) => (isLike(word, other) ? sum + weight : sum), 0),
    )
    const matching = counts.filter(count => count > 0).length
    const rarity = Math.log(1 + (all.length - matching + 0.5) / (matching + 0.5))
    for (const [index, count] of counts.entries()) {
      const lengthNorm = K1 * (1 - B + (B * lengths[index]!) / average)
      candidates[index]!.score += (rarity * count * (K1 + 1)) / (count + lengthNorm)
      if (count > 0) candidates[index]!.matched += rarity
    }
  }
  // A hit that shares only a common word stays in all later requests for nothing.
  const best = (of: 'score' | 'matched') => Math.max(0, ...candidates.map(each => each[of]))
  const [least, leastMatched] = [MIN_SHARE * best('score'), MIN_SHARE * best('matched')]
  const found = candidates.filter(({ score, matched }) => score > 0 && score >= least && matched >= leastMatched)
  return found.sort((a, b) => b.score - a.score).map(({ each }) => each)
}

function weightedWordsOf({ tool, toolkit }: Findable): { word: string; weight: number }[] {
  const { name, description } = tool
  const [verb = ''] = description.split(' ', 1)
  const texts = { name, verb, toolkit, description, parameters: parametersOf(tool) }
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

/** Returns whether two words are equal or one is the other with an ending, such as sharp and sharpen. */
function isLike(a: string, b: string): boolean {
  if (a === b) return true
  const [short, long] = a.length < b.length ? [a, b] : [b, a]
  return short.length >= 4 && long.length - short.length <= MAX_ENDING_CHARS && long.startsWith(short)
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
