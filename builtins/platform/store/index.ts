import { definePlugin, type PluginHandle } from '#kernel'
import { type ConfigCheck, ConfigChecks } from '#lib/config-check'
import { withEarlierNames } from '#lib/earlier-names'
import { MIGRATIONS } from '#migrations'
import { SchedulerToken } from '#platform/heartbeat/contract'
import { StoreConfig } from './config.ts'
import {
  appendEvent,
  DatabaseImages,
  Effects,
  type EngineParts,
  type OpenedStore,
  Store,
  StoreEngines,
  StoreSchema,
  setValue,
  wakeAgents,
} from './contract.ts'
import { openEmbedded } from './embedded.ts'
import { claimMigration, runMigration } from './extension.ts'
import { databaseImages } from './images.ts'
import { storeBackup } from './operations.ts'
import { effectPlanner } from './planner.ts'

const EARLIER_NAMES = { changed: 'waitForChange', unchanged: 'readCached', elsewhere: 'hasOtherDaemons' } as const

export default definePlugin({
  name: 'store',
  description: 'The database: one SQLite file, with leases and transactions.',
  fixed: true,
  config: StoreConfig,
  setup(svc, config) {
    for (const effect of [appendEvent, wakeAgents, setValue, claimMigration, runMigration])
      svc.add(Effects, effect.kind)
    svc.provide(StoreSchema, MIGRATIONS)
    svc.provide(DatabaseImages, databaseImages(svc))
    // A database of several machines has its own backup: cluster.backup.
    if (config.url === '') svc.operation(storeBackup)

    svc.add(ConfigChecks, urlCheck(svc))

    const ms = (key: string) => Math.round(Number(svc.config.get(`daemon.${key}`)) * 1000)
    const parts = (): EngineParts => ({
      url: config.url,
      planner: effectPlanner(svc),
      schema: MIGRATIONS,
      heartbeat: () => ms('heartbeat'),
      rest: () => Math.min(ms('min_rest'), ms('heartbeat')),
    })
    const open = (ending: AbortSignal): Promise<OpenedStore> => {
      if (config.url === '') return openEmbedded(svc, parts(), config.synchronous, ending)
      return svc.find(StoreEngines, schemeOf(config.url))!.open(parts())
    }

    let opened: OpenedStore | undefined
    // Every process with this plugin needs the database, and other plugins need it during their start.
    svc.start(
      async ending => {
        opened = await open(ending)
        const { store } = opened
        const names = store.startWriteReports
          ? { ...EARLIER_NAMES, overhear: 'startWriteReports' as const }
          : EARLIER_NAMES
        svc.provide(Store, withEarlierNames(store, names))
        svc.provide(SchedulerToken, opened.scheduler)
        return () => opened?.close()
      },
      { in: ['daemon', 'server', 'mcp', 'cli'] },
    )
    svc.on('config_changed', async ({ keys }) => {
      if (keys.includes('daemon.heartbeat')) await opened?.scheduler.reschedule()
    })
  },
})

/** Checks that an engine supports the scheme of `store.url`. */
function urlCheck(svc: PluginHandle): ConfigCheck {
  return {
    name: 'store.url',
    forbids: 'start',
    check({ get }) {
      const url = String(get('store.url'))
      const disabled = get('plugins.disabled') as readonly string[]
      const engines = svc.contributions(StoreEngines).filter(({ owner }) => !disabled.includes(owner))
      if (url === '' || (URL.canParse(url) && engines.some(({ key }) => key === schemeOf(url)))) return []
      const schemes = engines.map(({ key }) => `${key}://`).join(' or ')
      const remedy = `leave it empty to use the project's own file${schemes && `, or begin it with ${schemes}`}`
      return [{ path: 'store.url', message: `does not name a supported database; ${remedy}` }]
    },
  }
}

function schemeOf(url: string): string {
  return url.split(':', 1)[0]!
}
