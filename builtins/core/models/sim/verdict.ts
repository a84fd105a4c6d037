import { itemsUnder, quote, type Scene } from './scene.ts'

type Schema = Record<string, unknown>

/** Words that count for a candidate; those below count against. */
const FOR =
  /\b(owed|lied|hid|hidden|found|quarrel|anger|angry|envy|grudge|fits?|false|motive|threat\w*|raised|seen|shame)\b/gi
const AGAINST = /\b(alibi|could not|was away|confirm\w*|witness\w*|prove\w*|no need|refused|saved|there was no)\b/gi
/** Words that weigh more for certain roles. */
const EYES: readonly (readonly [RegExp, RegExp])[] = [
  [/book-?keep|account|numbers|money/i, /\b(owed|money|sum|paid|insurance|bill|accounts?|sold|price|worth)\b/gi],
  [/people|heart|listen/i, /\b(quarrel|anger|angry|envy|grudge|refused|lied|shame|hurt)\b/gi],
  [/trace|evidence|facts/i, /\b(found|fits?|marks|wax|key|ticket|recorder|camera|salt)\b/gi],
]
/** Weight of the random part in a decision. */
const HUNCH = 1.2

/**
 * Chooses between names by the clues in the prompt: for each enum field the name with the strongest clues, for numbers
 * up to 1 a confidence, and for text fields the deciding clue. Empty if there are no clues.
 */
export function verdictOn({ properties = {} }: Schema, { prompt, role, draw }: Scene): Record<string, unknown> {
  const clues = itemsUnder(prompt, /^clues\b/i)
  if (clues.length === 0) return {}
  const eyes = EYES.find(([who]) => who.test(role))?.[1]
  const weigh = (clue: string) =>
    count(clue, FOR) + (eyes ? count(clue, eyes) * 0.7 : 0) - 2 * count(clue, AGAINST) + 0.4
  const verdict: Record<string, unknown> = {}
  let decided = clues.at(-1)!
  let lead = 0
  for (const [field, schema] of Object.entries(properties as Record<string, Schema>)) {
    if (!Array.isArray(schema.enum)) continue
    const weights = schema.enum.map(name => {
      const mentions = clues.filter(clue => clue.toLowerCase().includes(String(name).toLowerCase()))
      return mentions.reduce((sum, clue) => sum + weigh(clue), 0) + HUNCH * draw(`${field}/${name}/${clues.length}`)
    })
    const best = weights.indexOf(Math.max(...weights))
    verdict[field] = schema.enum[best]
    if (Object.keys(verdict).length > 1) continue
    lead = weights[best]! - Math.max(...weights.filter((_, n) => n !== best))
    const name = String(schema.enum[best])
    const about = clues.filter(clue => clue.includes(name))
    decided = about.sort((a, b) => weigh(b) - weigh(a))[0] ?? decided
  }
  for (const [field, schema] of Object.entries(properties as Record<string, Schema>)) {
    if (schema.type === 'number' && schema.maximum === 1)
      verdict[field] = Math.round(100 * Math.min(0.95, 0.3 + 0.12 * lead)) / 100
    if (schema.type === 'string' && !schema.enum) verdict[field] = `What decides it for me: ${quote(decided, 300)}`
  }
  return verdict
}

function count(text: string, words: RegExp): number {
  return text.match(words)?.length ?? 0
}
