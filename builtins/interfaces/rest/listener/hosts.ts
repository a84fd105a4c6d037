import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import { CannotListenError } from '../contract.ts'

/** Where a listener is, as far as the checks of its requests depend on it. */
export interface ListenerKind {
  /** A unix socket, which the mode of its file guards: neither key nor Host header is looked at. */
  readonly local: boolean
  readonly port: number
  /** Names by which it was asked to listen. */
  readonly names: readonly string[]
  /** Host headers that were found to name it. */
  readonly accepted: Set<string>
  /** What ends the requests in flight that listen to it. */
  readonly inFlight: Set<AbortController>
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')
// Anything else that is loopback, such as 127.0.0.2, needs a key: so the specification has it.
const keyless = new BlockList()
keyless.addAddress('127.0.0.1', 'ipv4')
keyless.addAddress('::1', 'ipv6')

/**
 * The address that a host stands for, whether it needs a key (`wide`), and whether other machines can reach it (`shared`).
 * Nothing, `0.0.0.0` and `::` stand for all addresses of the machine.
 * @throws CannotListenError for an unknown name
 */
export async function resolveHost(host: string): Promise<{ address: string; wide: boolean; shared: boolean }> {
  const found = await lookup(host || '0.0.0.0', { all: true }).catch(() => [])
  const first = found.find(({ family }) => family === 4) ?? found[0]
  if (!first) throw new CannotListenError({ address: host, problem: 'no machine has this name' })
  const all = (list: BlockList) => found.every(({ address }) => isIn(list, address))
  return { address: first.address, wide: !all(keyless), shared: !all(loopback) }
}

/**
 * Returns whether a Host header names this server: a loopback address or a name of the listener, with its port or
 * none; or an entry of `allowed`. `literals` lets any IP address pass: rebinding a name to this machine needs a name.
 */
export function isOwnHost(
  header: string,
  listener: ListenerKind,
  allowed: readonly string[],
  literals: boolean,
): boolean {
  const match = /^(\[[\da-f:.]+\]|[^\s:/?#@\\[\]]+)(?::(\d{1,5}))?$/i.exec(header)
  if (!match?.[1] || !URL.canParse(`http://${match[1]}`)) return false
  const name = new URL(`http://${match[1]}`).hostname
  const port = match[2]
  if (allowed.some(entry => same(entry, name) || (port && same(entry, `${name}:${port}`)))) return true
  if (port && Number(port) !== listener.port) return false
  const address = name.replace(/^\[(.*)\]$/, '$1')
  if (isIP(address)) return literals || isIn(loopback, address) || listener.names.includes(address)
  return name === 'localhost' || listener.names.some(known => same(known, name))
}

function isIn(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}

function same(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}
