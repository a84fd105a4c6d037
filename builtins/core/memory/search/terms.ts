import { stemmer } from 'stemmer'

/** English stop words. */
const STOP = new Set(
  `a about above after again all also am an and any are as at be because been before being below between both but by can
  could did do does doing down during each few for from further had has have having he her here hers him his how i if in
  into is it its just me more most my no nor not now of off on once only or other our out over own same she should so some
  such than that the their them then there these they this those through to too under until up very was we were what when
  where which while who whom why will with would you your`
    .split(/\s+/)
    .filter(Boolean),
)

/** Scripts without spaces between words: split into pairs of characters, like the CJK analysers of search engines. */
const UNSPACED =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}ー\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}'
const RUNS = new RegExp(`[${UNSPACED}][${UNSPACED}\\p{M}]*|(?:(?![${UNSPACED}])[\\p{L}\\p{M}\\p{N}])+`, 'gu')
const IS_UNSPACED = new RegExp(`^[${UNSPACED}]`, 'u')
const IS_WORD = /^\p{Script=Han}$/u
const ASCII = /^[\0-\x7f]*$/

/**
 * Returns the searchable words of a text: case-folded, without stop words and single letters, in any script. English
 * words are reduced to their stems (Porter: An algorithm for suffix stripping, 1980), so that "tests" finds "testing".
 */
export function termsOf(text: string): string[] {
  const folded = text.normalize('NFKC').toLowerCase()
  if (ASCII.test(folded)) return (folded.match(/[a-z0-9]+/g) ?? []).filter(counts).map(stemOf)
  return (folded.match(RUNS) ?? []).flatMap(run => {
    if (IS_UNSPACED.test(run)) return pairsOf(run)
    return counts(run) ? [ASCII.test(run) ? stemOf(run) : run] : []
  })
}

/** Stems of recent words; a lookup takes a tenth of the time. */
const stems = new Map<string, string>()
const MAX_STEMS = 20_000
/** Longer words are seldom repeated, and V8 keeps them as parts of their whole text. */
const SHORT = 12

function stemOf(word: string): string {
  const known = stems.get(word)
  if (known !== undefined) return known
  const stem = stemmer(word)
  if (word.length > SHORT) return stem
  if (stems.size === MAX_STEMS) stems.clear()
  stems.set(word, stem)
  return stem
}

function counts(word: string): boolean {
  return word.length > 1 && !STOP.has(word)
}

/**
 * Returns each pair of neighbouring characters, and single characters that may be words, so that one-character queries
 * match.
 */
function pairsOf(run: string): string[] {
  const characters = [...run]
  const pairs = characters.slice(1).map((character, at) => `${characters[at]}${character}`)
  const words = characters.filter(character => characters.length === 1 || IS_WORD.test(character))
  return [...pairs, ...words]
}
