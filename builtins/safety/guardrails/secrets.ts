import type { PluginHandle } from '#kernel'
import { secretsOf } from '#lib/secrets'

/** Returns the distinct values of the project's secrets. */
export function ownSecrets(svc: PluginHandle): () => readonly string[] {
  const secrets = secretsOf(svc)
  return () => [...new Set(secrets())]
}
