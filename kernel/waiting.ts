import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Configuration, InvalidConfigError } from './configuration.ts'
import { ConflictError } from './errors.ts'
import { type Hooks, UnknownHookError } from './hooks.ts'
import { NeedsError } from './order.ts'
import type { PluginFile } from './plugin.ts'
import { lackingPackage } from './plugin-error.ts'
import type { Ports } from './ports.ts'
import { ServiceMissingError, type Services } from './services.ts'
import type { Outcome } from './state.ts'

/** Whether what a refused plugin waits for may have come by now. Told what became of others. */
export type Waits = (outcomes: readonly Outcome[]) => boolean | Promise<boolean>

/** What was last seen of a plugin file. */
export interface Seen extends PluginFile {
  /** The plugin's name and what it needs, once the file could be loaded. */
  name?: string
  needs?: readonly string[]
  error?: string
  /** It is loaded again when that may have come. */
  waits?: Waits | undefined
}

/** @returns undefined for what only the plugin's own file can mend */
export function waitsFor(
  cause: unknown,
  origin: string,
  { config, hooks, services, ports }: { config: Configuration; hooks: Hooks; services: Services; ports: Ports },
): Waits | undefined {
  if (cause instanceof NeedsError) return () => true
  if (cause instanceof ConflictError) return went
  if (cause instanceof UnknownHookError) return isAnother(() => String(hooks.names()))
  if (cause instanceof ServiceMissingError) return isAnother(() => JSON.stringify(services.list()))
  if (cause instanceof InvalidConfigError) return isAnother(() => config.text())
  const lacking = lackingPackage(cause)
  return lacking === undefined ? undefined : hasCome(ports.files, origin, lacking)
}

const went: Waits = outcomes => outcomes.some(({ outcome }) => outcome === 'removed' || outcome === 'reloaded')

function isAnother(look: () => string): Waits {
  const before = look()
  return () => look() !== before
}

/** Whether a package that a file could not import has come since. */
function hasCome(files: Ports['files'], file: string, name: string): Waits {
  const folders = createRequire(file).resolve.paths(name) ?? []
  const timeIn = (folder: string) =>
    files.stat(join(folder, name, 'package.json')).then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    )
  const look = async () => String(await Promise.all(folders.map(timeIn)))
  const before = look()
  return async () => (await look()) !== (await before)
}
