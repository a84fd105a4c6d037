import { Prefilter } from '../prefilter/prefilter.ts'
import type { Finder, InspectedText, Span } from '../rule.ts'
import { DIGIT_GROUPS, findCards } from './card.ts'
import { EMAIL, findEmails, SPELLED_EMAIL } from './email.ts'
import { findIbans, IBAN_START } from './iban.ts'
import { findAddresses, IPV4, IPV6 } from './ip.ts'
import { findPhones, NAMED_PHONE, PHONE_SHAPES } from './phone.ts'
import { ASSIGNED, findSecrets, TOKENS } from './secret.ts'
import { findSsns, NAMED_SSN, SSN } from './ssn.ts'

export const EXPRESSIONS: readonly RegExp[] = [
  ...TOKENS,
  ASSIGNED,
  EMAIL,
  SPELLED_EMAIL,
  IBAN_START,
  DIGIT_GROUPS,
  SSN,
  NAMED_SSN,
  IPV4,
  IPV6,
  ...PHONE_SHAPES.map(([shape]) => shape),
  NAMED_PHONE,
]

/** Returns finders of personal data and credentials, in order of precedence for overlapping findings. */
export function piiFinders(secrets: () => readonly string[]): Finder[] {
  const prefilter = new Prefilter(() => EXPRESSIONS)
  const kinds: [kind: string, find: (look: InspectedText) => Iterable<Span>][] = [
    ['secret', findSecrets(secrets)],
    ['email', findEmails],
    ['iban', findIbans],
    ['credit_card', findCards],
    ['ssn', findSsns],
    ['ip_address', findAddresses],
    ['phone', findPhones],
  ]
  return kinds.map(([kind, find]) => ({
    name: kind,
    kind,
    find: (text: string) => find({ text, matches: expression => prefilter.matches(text, expression) }),
  }))
}
