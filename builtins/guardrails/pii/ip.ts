import { isIPv6 } from 'node:net'
import type { Span } from '../rule.ts'

const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
/** Not a part of a longer number or name. */
export const IPV4 = new RegExp(`(?<![\\w.-])${OCTET}(?:\\.${OCTET}){3}(?!\\w|\\.\\d|-\\d)`, 'g')
export const IPV6 = /(?<![\w:.])(?:[\da-f]{0,4}:){2,7}[\da-f.]{0,15}(?![\w:])/gi
/** `version 1.2.3.4`, `v1.2.3.4`, `Chrome/120.0.0.0`. */
const VERSION = /(?:\bversions?|\bver\.?|\brelease|\bbuild|\bv)[ :=]{0,2}$/i

export function* findAddresses(text: string): Generator<Span> {
  for (const { 0: found, index } of text.matchAll(IPV4)) {
    const before = text.slice(Math.max(0, index - 12), index)
    if (namesNobody(found) || VERSION.test(before) || /[a-z]\/$/i.test(before)) continue
    yield { start: index, end: index + found.length }
  }
  for (const { 0: found, index } of text.matchAll(IPV6)) {
    const address = found.replace(/\.$/, '')
    if (isIPv6(address) && isTelling(address)) yield { start: index, end: index + address.length }
  }
}

/** Loopback, unspecified and net masks are the same for everybody. */
function namesNobody(address: string): boolean {
  return /^(?:127|0|255)\./.test(address)
}

/** `::1`, `a::b` and a row of eight bytes could be an address, and hardly ever is. */
function isTelling(address: string): boolean {
  const groups = address.split(':').filter(Boolean)
  if (address.includes('.')) return true
  return groups.some(group => group.length >= 3) && /\d/.test(address) && groups.length >= 2
}
