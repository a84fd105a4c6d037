/** Composes a process: the kernel, and its dependencies from outside. */

import { GoalStrategies } from '#core/goals/contract'
import { goalsExtension } from '#core/goals/extension'
import { cliInterface } from '#interfaces/cli/cli-interface'
import { httpInterface } from '#interfaces/rest/http-interface'
import { HostToken, Kernel, Operations, type PluginDefinition, type Ports, type Role, z } from '#kernel'
import { keyedRandom } from '#lib/keyed-random'
import { createLog, type LogOptions } from '#lib/log'
import { type Opener, OpenerToken } from '#lib/opener'
import { usePlainIssues } from '#lib/plain-issues'
import { projectAt } from '#lib/project'
import { recordedPorts, recordingBoundary } from '#lib/recording-context'
import { secretsOf } from '#lib/secrets'
import { systemPorts } from '#lib/system-ports'
import { HeartbeatConfig } from '#platform/heartbeat/contract'
import { installHeartbeat } from '#platform/heartbeat/install'
import { ModuleSource } from '#platform/module-source/module-source'
import { blockedReasonFor, type PluginFilesAllowed } from '#platform/plugin-files/blocked-reason'
import type { CheckoutModules, CheckoutParts } from '#platform/plugin-files/checkout/checkout'
import { DisabledPlugins, PluginsConfig } from '#platform/plugin-files/config'
import { RestartToken } from '#platform/plugin-files/contract'
import { PluginFiles, type PluginFilesOptions } from '#platform/plugin-files/plugin-files'
import { Config } from '#platform/settings/config'
import { ConfigChecks, PluginsOff } from '#platform/settings/contract'
import { describeOff, disabledCheck, pluginsOff } from '#platform/settings/disabled'
import { PluginMigrations } from '#platform/store/contract'
import { storeExtension } from '#platform/store/extension'
import { Toolkits } from '#tools/toolkits/contract'
import { toolkitsExtension } from '#tools/toolkits/extension'

export interface KernelOptions {
  /** The project's folder: the one that holds `.svc/`. */
  root: string
  roles: readonly Role[]
  builtins: readonly PluginDefinition[]
  ports?: Partial<Ports>
  log?: LogOptions
  /**
   * Which plugin files, and programs named in the configuration, may run: `trusted` (default) those of projects that
   * this user trusts (`svc init`, `svc plugins trust`; SVC_TRUST_PROJECT=true for one process), `all` regardless of
   * trust, or `none`.
   */
  pluginFiles?: PluginFilesAllowed
  /**
   * Opens with any configuration, to inspect or repair it: invalid values are replaced by defaults, all builtins are
   * loaded, and `config.faults()` lists the errors. With `roles: []` nothing starts.
   */
  lenient?: boolean
  /** Name of the configuration file in messages; by default its path. */
  configName?: string
  /**
   * Whether to apply changes on disk as soon as they are written, for plugin development; not with the role `cli`
   * alone.
   */
  dev?: boolean
  /** Command that restarts this process, if the process belongs to the service; empty to end it. */
  restart?: readonly string[]
  /** Called before plugins are loaded, so that its additions to a point come before theirs. */
  prepare?: (kernel: Kernel) => void
  /** Modules that plugin files import by name. */
  modules?: () => Promise<Record<string, object>>
}

const RootConfig = z.object({
  seed: z
    .int()
    .nullable()
    .default(null)
    .meta({ env: 'SVC_SEED' })
    .describe('Seed of random numbers, such as those of the simulated economy'),
})

/** Opens a project in this process: configuration, plugins, resources. @throws SvcError with a message for the operator */
export async function openKernel(options: KernelOptions): Promise<Kernel> {
  usePlainIssues()
  const machine = systemPorts(options.ports)
  const project = projectAt(options.root)
  const config = new Config(project.config, machine, options)
  await config.open()
  const { seed } = keysOf(config, '', RootConfig)
  const ports = recordedPorts(seed === null ? machine : { ...machine, random: keyedRandom(seed) })
  const log = createLog({ ...options.log, secrets: secretsOf({ ports, config }) })
  const { roles, dev = false, modules: shared = async () => ({}), pluginFiles = 'trusted' } = options
  const modules = new ModuleSource(options.builtins)
  const settings = keysOf(config, 'plugins', PluginsConfig)
  const disabled = disabledPlugins(config, options)
  const blockedReason = blockedReasonFor(pluginFiles, { project, ports: machine, log })
  const checkout = dev ? await checkoutModulesOf({ ports: machine, project, log, modules }) : undefined
  const sources = { before: [checkout ?? modules], fileOf: (builtin: string) => checkout?.fileOf(builtin) }
  const files = { settings, modules: shared, blockedReason, dev, meter: machine.clock, ...sources }
  const daemon = keysOf(config, 'daemon', HeartbeatConfig)
  const support = (kernel: Kernel) => pluginFilesOf(kernel, files)
  const seams = { boundary: recordingBoundary, support }
  const kernel = new Kernel({ project, roles, ports, log, config, disabled, ...seams })
  installHeartbeat(kernel, daemon)
  kernel.extensions.push(goalsExtension, storeExtension, toolkitsExtension)
  kernel.points.open(GoalStrategies, PluginMigrations, Toolkits)
  for (const rules of [httpInterface, cliInterface]) kernel.points.restrict(Operations, rules)
  config.checkWith(() => kernel.list(ConfigChecks))
  kernel.points.add(ConfigChecks, disabledCheck(options.builtins), 'kernel')
  kernel.services.provide(PluginsOff, names => pluginsOff(options.builtins, names), 'kernel')
  kernel.services.provide(OpenerToken, openerOf(options), 'kernel')
  if (options.restart) kernel.services.provide(RestartToken, options.restart, 'kernel')
  try {
    options.prepare?.(kernel)
    await config.verify()
    const off = describeOff(disabled())
    if (off !== '') log.info({}, off)
    await kernel.host.boot(modules)
    await config.verify()
    config.warnOfUnknownKeys(log)
    await kernel.start()
  } catch (error) {
    await kernel.close()
    throw error
  }
  return kernel
}

/** Loads the modules for developing the program itself, only when needed. */
async function checkoutModulesOf(parts: CheckoutParts): Promise<CheckoutModules | undefined> {
  const { checkoutModules } = await import('#platform/plugin-files/checkout/checkout')
  return checkoutModules(parts)
}

function pluginFilesOf(kernel: Kernel, options: PluginFilesOptions): PluginFiles {
  const files = new PluginFiles(kernel, options)
  kernel.services.provide(HostToken, files.service, 'kernel')
  return files
}

function keysOf<S extends z.ZodObject>(config: Config, section: string, shape: S): z.output<S> {
  const { view, add } = config.section(section, shape, 'kernel')
  add()
  return view
}

/**
 * Returns the currently disabled plugins. Configuration keys of disabled builtins stay known, so that they are
 * validated with the rest and others may read them.
 */
function disabledPlugins(config: Config, { builtins, lenient = false }: KernelOptions) {
  const settings = keysOf(config, 'plugins', DisabledPlugins)
  const isBuiltin = (name: string) => builtins.some(builtin => builtin.name === name)
  if (lenient)
    return () =>
      pluginsOff(
        [],
        settings.disabled.filter(name => !isBuiltin(name)),
      )
  const off = () => pluginsOff(builtins, settings.disabled)
  for (const { name, section = name, config: shape } of builtins)
    if (shape && off().has(name)) config.section(section, shape, name).add()
  return off
}

/** Opens trial projects without plugin files; the plugins that they need are passed in `also`. */
function openerOf({ builtins, modules }: KernelOptions): Opener {
  const own = { pluginFiles: 'none' as const, ...(modules ? { modules } : {}) }
  return { open: ({ also = [], ...other }) => openKernel({ ...own, builtins: [...builtins, ...also], ...other }) }
}
