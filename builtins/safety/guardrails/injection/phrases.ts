import { fold } from '../fold.ts'

/**
 * Phrases are regular expressions for text in small letters, with two shorthands: a blank is what may stand between two
 * words (` ?` where nothing may too), ` … ` up to forty characters of the same sentence between two words, and `…` alone up
 * to twelve for scripts without blanks. Each is folded as texts are, so that it may be written as its language writes it.
 */
export interface Family {
  name: string
  /** Phrases of scripts with word boundaries. */
  words: readonly string[]
  /** Phrases of scripts without word boundaries. */
  signs?: readonly string[]
  /** Expressions as they stand, for small letters, of what is no phrase. */
  marks?: readonly string[]
  /** Phrases that are also used in legitimate requests. */
  flagOnly?: boolean
}

const BETWEEN_WORDS = '\\W[^.!?]{0,40}?\\b'
const BETWEEN_SIGNS = '[^.!?。！？]{0,12}?'

/** One phrase as the source of the expression that looks for it in small letters. */
function phraseSource(phrase: string, border: boolean): string {
  const parts = phrase.split(' … ').map(part =>
    part
      .split('…')
      .map(piece => fold(piece).text.replaceAll(' ', '(?:\\W{1,4})'))
      .join(BETWEEN_SIGNS),
  )
  return `${border ? '\\b' : ''}(?:${parts.join(BETWEEN_WORDS)})`
}

/** The expressions of a family, each small: a large one would take a tenth of a second to compile. */
export function expressionsOf({ words, signs = [], marks = [] }: Family): RegExp[] {
  return [
    ...words.map(phrase => phraseSource(phrase, true)),
    ...signs.map(phrase => phraseSource(phrase, false)),
    ...marks,
  ].map(source => new RegExp(source, 'g'))
}
