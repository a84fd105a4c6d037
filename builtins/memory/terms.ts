/** English words that say nothing about a text. */
const STOP = new Set(
  `a about above after again all also am an and any are as at be because been before being below between both but by can
  could did do does doing down during each few for from further had has have having he her here hers him his how i if in
  into is it its just me more most my no nor not now of off on once only or other our out over own same she should so some
  such than that the their them then there these they this those through to too under until up very was we were what when
  where which while who whom why will with would you your`
    .split(/\s+/)
    .filter(Boolean),
)

/** Scripts that put no spaces between words. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u

let segmenter: Intl.Segmenter | undefined

/** The words of a text that count: folded, without stop words and single letters, in any script. */
export function termsOf(text: string): string[] {
  const folded = text.normalize('NFKC').toLowerCase()
  return (UNSPACED.test(folded) ? segmented(folded) : (folded.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [])).filter(
    term => !STOP.has(term) && (term.length > 1 || UNSPACED.test(term)),
  )
}

function segmented(text: string): string[] {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'word' })
  return [...segmenter.segment(text)].flatMap(({ segment, isWordLike }) => (isWordLike ? [segment] : []))
}
