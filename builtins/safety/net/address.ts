import type ipaddr from 'ipaddr.js'

/**
 * Why an address is none of the public internet; undefined when it is one. IPv4 in any IPv6 dress (mapped, translated, 6to4,
 * Teredo) counts as not public: no public server needs it.
 */
export function privacyOf(address: string, addresses: typeof ipaddr): string | undefined {
  if (!addresses.isValid(address)) return `${address} is no address`
  const parsed = addresses.process(address)
  const range = parsed.range()
  if (range === 'unicast' && (parsed.kind() === 'ipv4' || isGlobal(parsed as ipaddr.IPv6))) return undefined
  return `${address} is not a public address (${NAMES[range] ?? range})`
}

/** All that is given out for the public internet is in 2000::/3 (RFC 4291, 2.4): deprecated forms of IPv4 are not. */
function isGlobal({ parts: [first = 0] }: ipaddr.IPv6): boolean {
  return first >> 13 === 1
}

/** How people call the ranges of the IANA special-purpose registries. */
const NAMES: Readonly<Record<string, string>> = {
  carrierGradeNat: 'shared by a carrier',
  linkLocal: 'link-local',
  loopback: 'this machine',
  private: 'private network',
  uniqueLocal: 'private network',
  unspecified: 'this machine',
}

/** Whether a host is one of these, or below one: `example.org` covers `www.example.org`. */
export function isListed(host: string, list: readonly string[]): boolean {
  const name = host.replace(/\.$/, '')
  return list.some(each => name === each || name.endsWith(`.${each.replace(/^\*?\./, '')}`))
}
