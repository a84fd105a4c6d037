import type { InspectedText, Span } from '../rule.ts'

const LETTER = '\\w\\u00a1-\\uffff'
/** Matches e-mail addresses, within the limits of RFC 5321: 64 characters before the @, labels of 63. */
export const EMAIL = new RegExp(
  `(?<![${LETTER}.%+-])[${LETTER}.%+'-]{1,64}@(?:[${LETTER}-]{1,63}\\.){1,8}[a-z\\u00a1-\\uffff][a-z0-9\\u00a1-\\uffff-]{1,23}(?![${LETTER}])`,
  'gi',
)
/** Matches addresses that are spelled out to avoid detection: `jo [at] example [dot] org`. */
export const SPELLED_EMAIL =
  /(?<![\w.%+-])[\w.%+-]{1,64} ?[[({<] ?at ?[\])}>] ?(?:[\w-]{1,63} ?(?:\.|[[({<] ?dot ?[\])}>]) ?){1,8}[a-z]{2,24}(?![\w-])/gi

/** Matches names of files, packages and repositories, such as `icon@2x.png` and `vite@5.0.0-beta.js`. */
const NO_ADDRESS = /^[^@]*@(?:\dx\.|v?\d{1,9}\.\d)/i

export function* findEmails({ text, matches }: InspectedText): Generator<Span> {
  for (const { start, end, found } of matches(EMAIL)) {
    if (NO_ADDRESS.test(found[0]) || (found[0].startsWith('git@') && text[end] === ':')) continue
    yield { start, end }
  }
  yield* matches(SPELLED_EMAIL)
}
