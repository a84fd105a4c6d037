import { maskJson, type PluginHandle, secretsIn } from '#kernel'

/** A function that takes the values of secrets, ours and those of providers, out of the texts of a line of JSON. */
export function masker(svc: PluginHandle): (json: string) => string {
  const ofEnvironment = secretsIn(svc.ports.env)
  return json => maskJson(json, [...ofEnvironment, ...svc.config.secrets()])
}
