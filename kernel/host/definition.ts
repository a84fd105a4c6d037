import { z } from 'zod'
import type { PluginDefinition } from '../plugin.ts'

/** @throws TypeError that shows what would be right */
export function checkDefinition(value: unknown): PluginDefinition {
  const right = `write: export default definePlugin({ name: 'my-plugin', setup(svc) { … } })`
  if (value === undefined || value === null) throw new TypeError(`has no default export; ${right}`)
  if (typeof value !== 'object') throw new TypeError(`its default export is a ${typeof value}, and no plugin; ${right}`)
  const { name, setup } = value as Partial<PluginDefinition>
  if (typeof name !== 'string' || !/^[a-z0-9][a-z0-9-]{0,63}$/.test(name)) {
    throw new TypeError(
      `its name must be lower-case letters, digits and hyphens, not ${JSON.stringify(name)}; ${right}`,
    )
  }
  if (typeof setup !== 'function') throw new TypeError(`has no setup function; ${right}`)
  const { needs, config, state } = value as { [K in keyof PluginDefinition]?: unknown }
  if (needs !== undefined && !(Array.isArray(needs) && needs.every(need => typeof need === 'string'))) {
    throw new TypeError("its needs must be a list of plugins' names, such as needs: ['memory']")
  }
  if (config !== undefined && !(config instanceof z.ZodObject))
    throw new TypeError("its config must be a z.object({ … }) with the z of 'svc'")
  if (state !== undefined && !(state instanceof z.ZodType))
    throw new TypeError("its state must be a schema of the z of 'svc'")
  return value as PluginDefinition
}
