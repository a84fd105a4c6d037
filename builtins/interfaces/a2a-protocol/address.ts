import type { ProtocolExchange } from '#interfaces/rest/contract'
import type { PublicConfig } from './config.ts'

/** Returns the URL of this server: the configured one, otherwise the one that the client used. */
export function addressOf({ url }: PublicConfig, { request }: ProtocolExchange): string {
  if (url !== '') return url.replace(/\/+$/, '')
  // A request without a host came through the project's socket.
  return `http://${request.headers.host ?? 'localhost'}`
}

export const VERSIONS: readonly string[] = ['1.0', '0.3']

/** Returns the protocol version of a client without its patch number; 0.3 by default. */
export function versionIn({ headers }: ProtocolExchange['request']): string {
  const version = headers['a2a-version'] || '0.3'
  return String(version).split('.').slice(0, 2).join('.')
}
