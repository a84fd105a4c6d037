import { fold } from '../fold.ts'

/**
 * A family of phrases: regular expressions for lower-case text with three shorthands. A space matches any gap between
 * two words (` ?` an optional one); ` … ` matches up to 40 characters of the same sentence between two words; `…`
 * without spaces matches up to 12 characters, for scripts without word boundaries. Phrases are folded like texts, so
 * that they can be written with accents.
 */
export interface Family {
  name: string
  /** Phrases of scripts with word boundaries. */
  words: readonly string[]
  /** Phrases of scripts without word boundaries. */
  signs?: readonly string[]
  /** Plain regular expressions for lower-case text that are not phrases. */
  marks?: readonly string[]
  /** Phrases that are also used in legitimate requests. */
  flagOnly?: boolean
}

const BETWEEN_WORDS = '\\W[^.!?]{0,40}?\\b'
const BETWEEN_SIGNS = '[^.!?。！？]{0,12}?'

/** Returns the source of the regular expression of a phrase. */
function phraseSource(phrase: string, border: boolean): string {
  const parts = phrase.split(' … ').map(part =>
    part
      .split('…')
      .map(piece => fold(piece).text.replaceAll(' ', '(?:\\W{1,4})'))
      .join(BETWEEN_SIGNS),
  )
  return `${border ? '\\b' : ''}(?:${parts.join(BETWEEN_WORDS)})`
}

/** Returns the expressions of a family: many small ones, because a large one takes 100 ms to compile. */
export function expressionsOf({ words, signs = [], marks = [] }: Family): RegExp[] {
  return [
    ...words.map(phrase => phraseSource(phrase, true)),
    ...signs.map(phrase => phraseSource(phrase, false)),
    ...marks,
  ].map(source => new RegExp(source, 'g'))
}
