import { createRequire } from 'node:module'
import { join } from 'node:path'
import {
  type Configuration,
  ConflictError,
  type Hooks,
  InvalidConfigError,
  type Ports,
  type Retry,
  ServiceMissingError,
  type Services,
  UnknownHookError,
} from '#kernel'
import { lackingPackage } from './plugin-failure.ts'

/**
 * Returns when a refused plugin file is tried again, by the cause of the refusal; undefined if only a change of the
 * file can help.
 */
export function retryAfter(
  cause: unknown,
  origin: string,
  { config, hooks, services, ports }: { config: Configuration; hooks: Hooks; services: Services; ports: Ports },
): Retry | undefined {
  if (cause instanceof ConflictError) return onRemovalOrReload
  if (cause instanceof UnknownHookError) return onChange(() => String(hooks.names()))
  if (cause instanceof ServiceMissingError) return onChange(() => JSON.stringify(services.list()))
  if (cause instanceof InvalidConfigError) return onChange(() => config.text())
  const lacking = lackingPackage(cause)
  return lacking === undefined ? undefined : onPackageInstalled(ports.files, origin, lacking)
}

const onRemovalOrReload: Retry = outcomes =>
  outcomes.some(({ outcome }) => outcome === 'removed' || outcome === 'reloaded')

function onChange(look: () => string): Retry {
  const before = look()
  return () => look() !== before
}

/** Returns a check for whether a package that a file could not import has been installed since. */
function onPackageInstalled(files: Ports['files'], file: string, name: string): Retry {
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
