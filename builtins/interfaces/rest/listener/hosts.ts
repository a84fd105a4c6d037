import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import { CannotListenError } from '../contract.ts'

/** Properties of a listener that the checks of its requests depend on. */
export interface ListenerKind {
  /** Whether this is a unix socket, which its file mode protects; key and Host header are not checked. */
  readonly local: boolean
  readonly port: number
  /** Host names under which the server was asked to listen. */
  readonly names: readonly string[]
  /** Host headers already accepted as naming this listener. */
  readonly accepted: Set<string>
  /** Abort controllers of requests in flight. */
  readonly inFlight: Set<AbortController>
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')
// The specification requires a key for all other loopback addresses, such as 127.0.0.2.
const keyless = new BlockList()
keyless.addAddress('127.0.0.1', 'ipv4')
keyless.addAddress('::1', 'ipv6')

/**
 * Returns the address of a host, whether it needs a key (`wide`), and whether other machines can reach it (`shared`).
 * An empty host, `0.0.0.0` and `::` stand for all addresses of the machine.
 * @throws CannotListenError for an unknown name
 */
export async function resolveHost(host: string): Promise<{ address: string; wide: boolean; shared: boolean }> {
  const found = await lookup(host || '0.0.0.0', { all: true }).catch(() => [])
  const first = found.find(({ family }) => family === 4) ?? found[0]
  if (!first) throw new CannotListenError({ address: host, problem: 'the host name cannot be resolved' })
  const all = (list: BlockList) => found.every(({ address }) => isIn(list, address))
  return { address: first.address, wide: !all(keyless), shared: !all(loopback) }
}

/**
 * Returns whether a Host header names this server: a loopback address or a name of the listener, with its port or none;
 * or an entry of `allowed`. `literals` accepts any IP address, because DNS rebinding needs a name.
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
