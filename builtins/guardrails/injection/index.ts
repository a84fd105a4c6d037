import type { View } from '../fold.ts'
import { type Finder, PAUSE, type Span } from '../rule.ts'
import { COERCION, PRESSURE } from './coercion.ts'
import { compact, decodedRuns, reversed, rot13, unescaped } from './encoded.ts'
import { EXFILTRATION } from './exfiltration.ts'
import { EXTRACTION } from './extraction.ts'
import { FORGERY } from './forgery.ts'
import { OVERRIDE } from './override.ts'
import { expressionsOf, type Family } from './phrases.ts'
import { ROLE, ROLE_PLAY } from './role.ts'

export const FAMILIES: readonly Family[] = [
  OVERRIDE,
  ROLE,
  EXTRACTION,
  FORGERY,
  EXFILTRATION,
  COERCION,
  PRESSURE,
  ROLE_PLAY,
]

/** What is worth hiding, and looked for behind encodings. */
const HIDDEN: readonly Family[] = [OVERRIDE, EXTRACTION, EXFILTRATION]

/** The plainest sentence of all, without its blanks. */
export const RUN_TOGETHER =
  /(?:ignor(?:e|ing)|disregard|forget|bypass|override|neglect)(?:all|any|every|the|of|your|my|these|those|its|other|and|please){0,4}(?:previous|prior|above|preceding|earlier|foregoing|former|initial|original|system|safety|existing)(?:ly)?(?:given|provided|stated|system|safety|set|of|or|and|above|prior|previous){0,3}(?:instructions?|prompts?|rules|directi(?:ons|ves)|guidelines?|commands|orders|constraints|restrictions)/g
/** Words that only stand backwards, or 13 letters on, in what is meant to be read so. */
const BACKWARDS = /snoitcurtsni|tpmorp|erongi|sevitcerid/i
const SHIFTED = /vafgehpgvba|cebzcg|vtaber|qvfertneq|erfgevpgvba/i

const KIND = 'prompt_injection'

/** Ways in which a text tells a model what to do. */
export function injectionFinders(): (Finder & { flagOnly: boolean })[] {
  const families = FAMILIES.map(family => {
    // Made when first needed: every command line would wait for it.
    let expressions: readonly RegExp[] | undefined
    const find = (text: string) => {
      expressions ??= expressionsOf(family)
      return spansOf(text.toLowerCase(), expressions)
    }
    return { family, find }
  })
  const hidden = families.filter(({ family }) => HIDDEN.includes(family))

  function* all({ text, span }: View): Generator<Span> {
    for (const { find } of hidden) for (const { start, end } of find(text)) yield end > start ? span(start, end) : PAUSE
  }

  function* obfuscated(text: string): Generator<Span> {
    const letters = compact(text)
    for (const { start, end } of spansOf(letters.text, [RUN_TOGETHER]))
      yield end > start ? letters.span(start, end) : PAUSE
    if (BACKWARDS.test(text)) yield* all(reversed(text))
    if (SHIFTED.test(text)) yield* all({ text: rot13(text), span: (start, end) => ({ start, end }) })
  }

  function* encoded(text: string): Generator<Span> {
    // A run as a whole is what it hides.
    for (const run of decodedRuns(text)) yield* all({ text: run.text, span: () => run.at })
    const plain = unescaped(text)
    if (plain) yield* all(plain)
  }

  return [
    ...families.map(({ family: { name, flagOnly = false }, find }) => ({ name, kind: KIND, find, flagOnly })),
    { name: 'obfuscated', kind: KIND, find: obfuscated, flagOnly: false },
    { name: 'encoded', kind: KIND, find: encoded, flagOnly: false },
  ]
}

/** All matches of all expressions, with a pause after each expression: the first use of one takes milliseconds. */
function* spansOf(text: string, expressions: readonly RegExp[]): Generator<Span> {
  for (const expression of expressions) {
    let at = 0
    // Not `matchAll`, which makes a copy of the expression; and the place is kept here, because others use it in between.
    for (;;) {
      expression.lastIndex = at
      const found = expression.exec(text)
      if (!found) break
      at = expression.lastIndex
      yield { start: found.index, end: at }
    }
    yield PAUSE
  }
}
