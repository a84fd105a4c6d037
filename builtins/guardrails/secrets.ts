import type { PluginHandle } from '#kernel'

const SECRET_NAME = /(?:_KEY|_TOKEN|_SECRET|_PASSWORD)$/

/** The project's own secrets by value: of the configuration, and of the environment by the names that such variables have. */
export function ownSecrets(svc: PluginHandle): () => readonly string[] {
  const fromEnvironment = Object.entries(svc.ports.env).flatMap(([name, value]) =>
    value && SECRET_NAME.test(name) ? [value] : [],
  )
  return () => [...new Set([...svc.config.secrets(), ...fromEnvironment])]
}
