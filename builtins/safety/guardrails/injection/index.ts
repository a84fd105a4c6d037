import type { View } from '../fold.ts'
import { once } from '../lazy.ts'
import { NOWHERE, Prefilter } from '../prefilter/prefilter.ts'
import { type Finder, PAUSE, type Span } from '../rule.ts'
import { COERCION, PRESSURE } from './coercion.ts'
import { compact, decodeRuns, reverseText, rot13, unescapeText } from './encoded.ts'
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

/** Families that are also searched in decoded text. */
const HIDDEN: readonly Family[] = [OVERRIDE, EXTRACTION, EXFILTRATION]

/** The most common attack, written without spaces. */
const RUN_TOGETHER =
  /(?:ignor(?:e|ing)|disregard|forget|bypass|override|neglect)(?:all|any|every|the|of|your|my|these|those|its|other|and|please){0,4}(?:previous|prior|above|preceding|earlier|foregoing|former|initial|original|system|safety|existing)(?:ly)?(?:given|provided|stated|system|safety|set|of|or|and|above|prior|previous){0,3}(?:instructions?|prompts?|rules|directi(?:ons|ves)|guidelines?|commands|orders|constraints|restrictions)/g
/** Keywords in reverse and in ROT13; only a text that has one is decoded. */
const BACKWARDS = /snoitcurtsni|tpmorp|erongi|sevitcerid/g
const SHIFTED = /vafgehpgvba|cebzcg|vtaber|qvfertneq|erfgevpgvba/g

const KIND = 'prompt_injection'

/** Returns the finders of injected instructions. */
export function injectionFinders(): (Finder & { flagOnly: boolean })[] {
  // Compiled at first use, because compiling would delay every command.
  const expressions = once(() => new Map(FAMILIES.map(family => [family, expressionsOf(family)])))
  const prefilter = new Prefilter(() => [...expressions().values()].flat().concat(BACKWARDS, SHIFTED))
  let last = { text: '', small: '' }
  const inSmallLetters = (text: string) => {
    if (last.text !== text) last = { text, small: text.toLowerCase() }
    return last.small
  }

  function* look(family: Family, text: string): Generator<Span> {
    const small = inSmallLetters(text)
    for (const expression of expressions().get(family) ?? []) {
      const matches = prefilter.matches(small, expression)
      if (matches === NOWHERE) continue
      yield* matches
      // The first use of an expression takes milliseconds.
      yield PAUSE
    }
  }

  function* findHidden({ text, span }: View): Generator<Span> {
    for (const family of HIDDEN)
      for (const { start, end } of look(family, text)) yield end > start ? span(start, end) : PAUSE
  }
  const matchesWords = (text: string, words: RegExp) => {
    for (const _ of prefilter.matches(inSmallLetters(text), words)) return true
    return false
  }

  function* findObfuscated(text: string): Generator<Span> {
    const backwards = matchesWords(text, BACKWARDS)
    const shifted = matchesWords(text, SHIFTED)
    const letters = compact(text)
    for (const { 0: found, index } of letters.text.matchAll(RUN_TOGETHER))
      yield letters.span(index, index + found.length)
    yield PAUSE
    if (backwards) yield* findHidden(reverseText(text))
    if (shifted) yield* findHidden({ text: rot13(text), span: (start, end) => ({ start, end }) })
  }

  function* findEncoded(text: string): Generator<Span> {
    const runs = decodeRuns(text)
    yield PAUSE
    if (runs) yield* findHidden(runs)
    const plain = unescapeText(text)
    if (plain) yield* findHidden(plain)
  }

  return [
    ...FAMILIES.map(family => ({
      name: family.name,
      kind: KIND,
      find: (text: string) => look(family, text),
      flagOnly: family.flagOnly ?? false,
    })),
    { name: 'obfuscated', kind: KIND, find: findObfuscated, flagOnly: false },
    { name: 'encoded', kind: KIND, find: findEncoded, flagOnly: false },
  ]
}
