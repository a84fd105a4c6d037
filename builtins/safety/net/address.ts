import type ipaddr from 'ipaddr.js'

/**
 * Returns why an address is not public; undefined when it is. IPv4 in any IPv6 form (mapped, translated, 6to4, Teredo)
 * counts as not public, because no public server needs it.
 */
export function privacyOf(address: string, addresses: typeof ipaddr): string | undefined {
  if (!addresses.isValid(address)) return `${address} is not an IP address`
  const parsed = addresses.process(address)
  const range = parsed.range()
  if (range === 'unicast' && (parsed.kind() === 'ipv4' || isGlobal(parsed as ipaddr.IPv6))) return undefined
  return `${address} is not a public address (${NAMES[range] ?? range})`
}

/**
 * Returns whether an address is in 2000::/3, the range for the public internet (RFC 4291, 2.4), which excludes
 * deprecated forms of IPv4.
 */
function isGlobal({ parts: [first = 0] }: ipaddr.IPv6): boolean {
  return first >> 13 === 1
}

/** Common names of ranges in the IANA special-purpose registries. */
const NAMES: Readonly<Record<string, string>> = {
  carrierGradeNat: 'carrier-grade NAT',
  linkLocal: 'link-local',
  loopback: 'this machine',
  private: 'private network',
  uniqueLocal: 'private network',
  unspecified: 'this machine',
}

/** Returns whether a host or one of its parent domains is listed: `example.org` covers `www.example.org`. */
export function isListed(host: string, list: readonly string[]): boolean {
  const name = host.replace(/\.$/, '')
  return list.some(each => name === each || name.endsWith(`.${each.replace(/^\*?\./, '')}`))
}
