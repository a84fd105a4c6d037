import { type PluginHandle, secretsIn } from '#kernel'

/** The project's own secrets by value: of the environment, and all that the configuration ever had. */
export function ownSecrets(svc: PluginHandle): () => readonly string[] {
  const environment = secretsIn(svc.ports.env)
  return () => [...new Set([...environment, ...svc.config.secrets()])]
}
