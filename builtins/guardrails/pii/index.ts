import type { Finder } from '../rule.ts'
import { findCards } from './card.ts'
import { findEmails } from './email.ts'
import { findIbans } from './iban.ts'
import { findAddresses } from './ip.ts'
import { findPhones } from './phone.ts'
import { findSecrets } from './secret.ts'
import { findSsns } from './ssn.ts'

/** What may say who somebody is or open a door. In the order of precedence where two find the same digits. */
export function piiFinders(secrets: () => readonly string[]): Finder[] {
  const kinds: [kind: string, find: Finder['find']][] = [
    ['secret', findSecrets(secrets)],
    ['email', findEmails],
    ['iban', findIbans],
    ['credit_card', findCards],
    ['ssn', findSsns],
    ['ip_address', findAddresses],
    ['phone', findPhones],
  ]
  return kinds.map(([kind, find]) => ({ name: kind, kind, find }))
}
