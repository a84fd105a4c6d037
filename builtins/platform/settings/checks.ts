import { mayPluginsAdd } from '#interfaces/plugins-admin/contract'
import { didYouMean, HostToken, type PluginHandle } from '#kernel'
import { type DoctorCheck, finding } from '#lib/doctor-check'
import { stemOf } from '#lib/plugin-file'
import { pluralize } from '#lib/pluralize'
import type { ConfigCheck } from './contract.ts'
import { offNow } from './settings.ts'

/** Checks that `plugins.disabled` only names plugins that exist. */
export function disabledNamesCheck(svc: PluginHandle): ConfigCheck {
  return {
    name: 'names of plugins',
    forbids: 'change',
    async check({ get }) {
      // Plugin files that are not run may define unknown names.
      if (get('plugins.enabled') !== true || mayPluginsAdd(svc)) return []
      const host = svc.use(HostToken)
      const known = [
        ...host.list().flatMap(({ name, origin }) => [name, stemOf(origin)]),
        ...(await host.listChanged()),
      ]
      const unknown = (get('plugins.disabled') as readonly string[]).filter(name => !known.includes(name))
      return unknown.map(name => ({
        path: 'plugins.disabled',
        message: `lists the plugin ${JSON.stringify(name)}, but there is no plugin of that name; ${didYouMean(name, known, 'svc plugins')}`,
      }))
    },
  }
}

/** Reports faults of the configuration that do not prevent the start. */
export function settingsCheck({ config }: PluginHandle): DoctorCheck {
  return {
    name: 'settings',
    async run() {
      const faults = await config.faults(['change', 'nothing'])
      if (faults.length === 0) return finding.ok('the settings are consistent')
      const found = faults.map(({ path, message }) => `${path}: ${message}`).join('; ')
      return finding.warn(found, 'correct the setting; then check it with svc config validate')
    },
  }
}

/** Reports changed keys that this process does not apply before a restart. */
export function restartCheck({ config }: PluginHandle): DoctorCheck {
  return {
    name: 'restart',
    async run() {
      await config.refresh()
      const keys = config.keysAwaitingRestart()
      if (keys.length === 0) return finding.ok('no changed key waits for a restart')
      const changed = `${pluralize(keys.length, 'key')} changed since the start and not in force: ${keys.join(', ')}`
      return finding.warn(changed, 'restart the service: svc restart')
    },
  }
}

/** Lists all disabled plugins. */
export function offCheck(svc: PluginHandle): DoctorCheck {
  return {
    name: 'disabled',
    run: async () => finding.ok(offNow(svc) || 'no plugin is disabled'),
  }
}

/** Logs configuration faults that do not prevent the start. */
export async function warnOfSettings({ config, log }: PluginHandle): Promise<void> {
  for (const { path, message } of await config.faults(['change'])) log.warn({}, `${path}: ${message}`)
}
