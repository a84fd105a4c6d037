import { isIPv6 } from 'node:net'
import type { InspectedText, Span } from '../rule.ts'

const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
/** IPv4 addresses that are not part of a longer number or name. */
export const IPV4 = new RegExp(`(?<![\\w.-])${OCTET}(?:\\.${OCTET}){3}(?!\\w|\\.\\d|-\\d)`, 'g')
export const IPV6 = /(?<![\w:.])(?:[\da-f]{0,4}:){2,7}[\da-f.]{0,15}(?![\w:])/gi
/** Matches the text before a version number, as in `version 1.2.3.4`, `v1.2.3.4`, `Chrome/120.0.0.0`. */
const VERSION = /(?:\bversions?|\bver\.?|\brelease|\bbuild|\bv)[ :=]{0,2}$/i

export function* findAddresses({ text, matches }: InspectedText): Generator<Span> {
  for (const { start, end, found } of matches(IPV4)) {
    const before = text.slice(Math.max(0, start - 12), start)
    if (isSpecialAddress(found[0]) || VERSION.test(before) || /[a-z]\/$/i.test(before)) continue
    yield { start, end }
  }
  for (const { start, found } of matches(IPV6)) {
    const address = found[0].replace(/\.$/, '')
    if (isTelling(address) && isIPv6(address)) yield { start, end: start + address.length }
  }
}

/** Returns whether an address is loopback, unspecified or a net mask, and so identifies no one. */
function isSpecialAddress(address: string): boolean {
  return /^(?:127|0|255)\./.test(address)
}

/** Returns whether a string is probably an IPv6 address; `::1`, `a::b` and eight short groups usually are not. */
function isTelling(address: string): boolean {
  if (address.includes('.')) return true
  return /[\da-f]{3}/i.test(address) && /\d/.test(address) && /[\da-f]:{1,2}[\da-f]/i.test(address)
}
