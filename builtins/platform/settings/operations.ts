import { InvalidConfigError, operation, type PluginHandle, type ReloadClass, z } from '#kernel'
import { DiskFailedError, DiskFullError } from '#lib/errors'
import { FileLockedError } from '#lib/lock'
import { BadFileError } from '#lib/yaml'
import { Daemon } from '#platform/daemon/contract'
import { ConfigChanged, ConfigKey, ConfigPatched, ConfigValue, ConfigViews, UnknownConfigKeyError } from './contract.ts'
import { renderChange, renderValue, renderViews } from './render.ts'
import { changeOf, DISABLED, keysOf, offNow, valueAt, viewsOf } from './settings.ts'

const key = z
  .string()
  .min(1)
  .max(200)
  .meta({ examples: ['daemon.heartbeat'] })
  .describe('A dotted key, such as daemon.heartbeat')

const WRITE_ERRORS = [InvalidConfigError, BadFileError, FileLockedError, DiskFullError, DiskFailedError]

const isDriving = (svc: PluginHandle) => (svc.has(Daemon) ? svc.use(Daemon).isDriving() : svc.heartbeat.live)

const noteOf = (svc: PluginHandle, key: string) => (key === DISABLED && offNow(svc)) || null

const changeOfKey = (svc: PluginHandle, key: string, change: Record<string, ReloadClass>) => ({
  ...changeOf(svc.config, key, change[key] ?? null),
  note: noteOf(svc, key),
})

export const configGet = operation({
  name: 'config.get',
  summary: 'Show the configuration',
  description:
    'Returns the values of the file, the effective values (file, environment and defaults) and the values in force.',
  input: z.object({}),
  output: ConfigViews,
  http: { method: 'GET', path: '/config' },
  reach: 'config',
  cli: { usage: 'config' },
  mcp: true,
  run: async (_, { svc }) => viewsOf(svc.config, await isDriving(svc)),
  render: renderViews,
})

export const configKeys = operation({
  name: 'config.keys',
  summary: 'List configuration keys, values and schemas',
  description: 'Includes the default, the source of the value, and whether a change needs a restart.',
  input: z.object({}),
  output: z.array(ConfigKey),
  http: { method: 'GET', path: '/config-keys' },
  mcp: true,
  run: (_, { svc }) => keysOf(svc.config),
})

export const configPatch = operation({
  name: 'config.patch',
  summary: 'Change configuration keys',
  description:
    'The merged result is checked before anything is written. A secret given as *** keeps its value. Changes that need no restart take effect at the next heartbeat.',
  input: z.looseObject({}).meta({ examples: [{ daemon: { heartbeat: 5 } }] }),
  output: ConfigPatched,
  http: { method: 'PATCH', path: '/config' },
  errors: WRITE_ERRORS,
  async run(patch, { svc }) {
    const reload = await svc.config.patch(patch)
    const variables = svc.config
      .keys()
      .flatMap(({ path, source, env }) => (path in reload && source === 'env' ? env : []))
    const notes = [
      DISABLED in reload && noteOf(svc, DISABLED),
      variables.length > 0 && `overridden by the environment: ${variables.join(', ')}`,
    ].filter(Boolean)
    return { config: svc.config.tree('persisted'), reload, ...(notes.length > 0 && { note: notes.join('; ') }) }
  },
})

export const configValue = operation({
  name: 'config.value',
  summary: 'Show a configuration key and its source',
  description: 'The source is the file, an environment variable or the default.',
  input: z.object({ key }),
  output: ConfigValue,
  http: { method: 'GET', path: '/config/{key}' },
  cli: { usage: 'config get <key>' },
  reach: 'config',
  mcp: true,
  errors: [UnknownConfigKeyError],
  run: async ({ key }, { svc }) => valueAt(svc.config, key, await isDriving(svc)),
  render: renderValue,
})

export const configSet = operation({
  name: 'config.set',
  summary: 'Set a configuration key',
  description:
    'A mapping replaces the existing mapping; to set a single entry, use a longer key: model.providers.office.base_url.',
  input: z.object({
    key,
    value: z.string().max(100_000).describe('Value as in the file: 5, true, null, [a, b] or text'),
  }),
  output: ConfigChanged,
  cli: { usage: 'config set <key> <value>' },
  reach: 'config',
  errors: [UnknownConfigKeyError, ...WRITE_ERRORS],
  run: async ({ key, value }, { svc }) =>
    changeOfKey(svc, key, await svc.config.set(key, svc.config.parseText(key, value))),
  render: renderChange,
})

export const configUnset = operation({
  name: 'config.unset',
  summary: 'Reset a configuration key to its default',
  description: 'Removes the key from the configuration file; an environment variable that overrides it stays in force.',
  input: z.object({ key }),
  output: ConfigChanged,
  http: { method: 'DELETE', path: '/config/{key}' },
  cli: { usage: 'config unset <key>' },
  reach: 'config',
  errors: [UnknownConfigKeyError, ...WRITE_ERRORS],
  run: async ({ key }, { svc }) => changeOfKey(svc, key, await svc.config.unset(key)),
  render: renderChange,
})

export const settingsOperations = [configGet, configKeys, configPatch, configValue, configSet, configUnset]
