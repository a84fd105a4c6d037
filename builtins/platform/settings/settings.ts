import { type Configuration, describeIssues, type PluginHandle, type ReloadClass } from '#kernel'
import { getIn } from '#lib/tree'
import { type ConfigChanged, type ConfigKey, type ConfigValue, type ConfigViews, PluginsOff } from './contract.ts'
import { describeOff } from './disabled.ts'

/** The key that lists the disabled plugins. */
export const DISABLED = 'plugins.disabled'

/**
 * Returns all views of the current file. @param isLive whether the heartbeat runs in this process, so that live values
 * apply
 */
export async function viewsOf(config: Configuration, isLive: boolean): Promise<ConfigViews> {
  const problem = (await config.refresh()) ?? describeIssues(await config.faults(['start']))
  const keys = config.keys()
  return {
    persisted: config.tree('persisted'),
    effective: config.tree('effective'),
    ...(isLive ? { live: config.tree('live') } : {}),
    restart_required_fields: keys.filter(({ reload }) => reload === 'restart_required').map(({ path }) => path),
    sources: Object.fromEntries(keys.map(({ path, source }) => [path, source])),
    ...(problem === '' ? {} : { problem }),
  }
}

/** Returns all keys with the details for an editor, sorted by path. */
export async function keysOf(config: Configuration): Promise<ConfigKey[]> {
  await config.refresh()
  const effective = config.tree('effective')
  return config.keys().map(({ path, owner, schema, source, env = null, secret = false, reload, ...info }) => ({
    key: path,
    section: owner,
    source,
    env,
    secret,
    reload,
    schema: schema as Record<string, unknown>,
    value: getIn(effective, path.split('.')) ?? null,
    default: info.default ?? null,
  }))
}

/**
 * Returns the value of one key. @param isLive whether the heartbeat runs in this process, so that live values apply
 * @throws UnknownConfigKeyError
 */
export async function valueAt(config: Configuration, key: string, isLive: boolean): Promise<ConfigValue> {
  await config.refresh()
  const path = config.pathOf(key)
  const { path: of, source, reload, env, schema, ...info } = infoOf(config, key)!
  const { description = '' } = schema as { description?: string }
  const faults = await config.faults(['start'])
  const ofKey = faults.filter(({ path }) => path.startsWith(of) || (env !== undefined && path.endsWith(env)))
  return {
    key,
    value: getIn(config.tree('effective'), path) ?? null,
    ...(isLive ? { live: getIn(config.tree('live'), path) ?? null } : {}),
    source: source === 'file' && getIn(config.tree('persisted'), path) === undefined ? 'default' : source,
    default: getIn(info.default, path.slice(of.split('.').length)) ?? null,
    env: env ?? null,
    reload,
    description,
    problem: describeIssues(ofKey) || null,
  }
}

/** Describes the result of setting or removing a key. @param reload null when the file did not change */
export function changeOf(config: Configuration, key: string, reload: ReloadClass | null): Omit<ConfigChanged, 'note'> {
  const info = infoOf(config, key)
  // An unknown key was removed.
  if (!info) return { key, value: null, reload, overridden_by: null }
  const { source, env = null } = info
  const value = getIn(config.tree('persisted'), config.pathOf(key)) ?? null
  return { key, value, reload, overridden_by: source === 'env' ? env : null }
}

/** Describes which plugins are off by the configuration on disk, dependents included; empty when none is. */
export function offNow(svc: PluginHandle): string {
  const disabled = getIn(svc.config.tree('effective'), DISABLED.split('.')) as readonly string[]
  return describeOff(svc.use(PluginsOff)(disabled))
}

/** Returns the key, or the mapping key that holds this entry; undefined for an unknown key. */
function infoOf(config: Configuration, key: string) {
  return config.keys().find(({ path }) => path === key || key.startsWith(`${path}.`))
}
