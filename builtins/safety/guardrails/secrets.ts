import type { PluginHandle } from '#kernel'
import { secretsOf } from '#lib/secrets'

/** The project's own secrets by value, each once. */
export function ownSecrets(svc: PluginHandle): () => readonly string[] {
  const secrets = secretsOf(svc)
  return () => [...new Set(secrets())]
}
