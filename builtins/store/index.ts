import { hostname } from 'node:os'
import { definePlugin, SchedulerToken, z } from '#kernel'
import { appendEvent, Effects, Store, setValue, wakeAgents } from './contract.ts'
import { openDatabase } from './open.ts'
import { LocalScheduler } from './scheduler.ts'
import { SqliteStore } from './store.ts'

export default definePlugin({
  name: 'store',
  description: 'The database: one SQLite file, leases, and the one way to write.',
  config: z.object({
    synchronous: z
      .enum(['normal', 'full'])
      .default('normal')
      .describe('normal: survives the death of the process; full: of the machine too, at one fsync a write'),
  }),
  setup(svc, config) {
    for (const effect of [appendEvent, wakeAgents, setValue]) svc.add(Effects, effect.kind)

    // Every process that has the plugin needs the database, and others need it in their own start.
    svc.start(
      async () => {
        const check = svc.roles.has('daemon') || svc.roles.has('server')
        const database = await openDatabase(svc.project.database, svc.ports, {
          synchronous: config.synchronous,
          check,
        })
        const store = new SqliteStore(svc, database)
        const ms = (key: string) => Math.round(Number(svc.config.get(`daemon.${key}`)) * 1000)
        store.scheduler = new LocalScheduler({
          database,
          owner: svc.ports.ids.make(`${hostname()}:${process.pid}`, 8),
          now: () => svc.clock.ms(),
          monotonic: () => svc.clock.monotonic(),
          heartbeat: () => ms('heartbeat'),
          rest: () => Math.min(ms('min_rest'), ms('heartbeat')),
          present: () => database.present(svc.ports.files),
          write: (effects, fence) => store.write(effects, fence),
          wake: async (agents, reason) =>
            void (await store.apply([wakeAgents({ ...(agents ? { agents } : {}), reason })])),
        })
        svc.provide(Store, store)
        svc.provide(SchedulerToken, store.scheduler)
        return () => database.close()
      },
      { in: ['daemon', 'server', 'mcp', 'cli'] },
    )
    svc.on('config_changed', async ({ keys }) => {
      if (keys.includes('daemon.heartbeat')) {
        await (svc.use(SchedulerToken) as LocalScheduler).reschedule()
      }
    })
  },
})
