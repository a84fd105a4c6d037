import type { ProtocolExchange } from '#interfaces/rest/contract'
import type { PublicConfig } from './config.ts'

/** Where the client reaches this server: as it is configured, else as the client wrote it. */
export function addressOf({ url }: PublicConfig, { request }: ProtocolExchange): string {
  if (url !== '') return url.replace(/\/+$/, '')
  // Without a host it came through the project's own socket.
  return `http://${request.headers.host ?? 'localhost'}`
}

export const VERSIONS: readonly string[] = ['1.0', '0.3']

/** The version of the protocol that a client speaks, without its patch; who does not say speaks 0.3. */
export function versionIn({ headers }: ProtocolExchange['request']): string {
  const version = headers['a2a-version'] || '0.3'
  return String(version).split('.').slice(0, 2).join('.')
}
