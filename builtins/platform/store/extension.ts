import { type Extension, errorMessage, type PluginHandle, z } from '#kernel'
import {
  defineEffect,
  getValue,
  InvalidMigrationsError,
  PluginMigrationError,
  PluginMigrations,
  Store,
} from './contract.ts'
import { countMigration, SCHEMAS } from './statements.ts'

/** Claims a step of a plugin: changes no row, and thereby refuses the commit, when another process has run it. */
export const claimMigration = defineEffect({
  name: 'migration.claim',
  schema: z.object({ plugin: z.string(), step: z.number().int().positive() }),
  mustChange: true,
  statements: claimed => [countMigration(claimed)],
})

export const runMigration = defineEffect({
  name: 'migration.run',
  schema: z.object({ sql: z.string() }),
  statements: ({ sql }) => [{ sql }],
})

const Migrations = z.array(z.string().regex(/\S/)).min(1)

/** Adds `migrations` to plugin handles. */
export const storeExtension: Extension = svc => ({
  migrations(steps) {
    const known = Migrations.safeParse(steps)
    if (!known.success) throw new InvalidMigrationsError({ plugin: svc.name })
    svc.add(PluginMigrations, { name: svc.name, steps })
    // Every process with the plugin needs its tables.
    svc.start(() => migrate(svc, steps), { in: ['daemon', 'server', 'mcp', 'cli'] })
  },
})

/** Runs the steps that no process has run yet, each in a transaction of its own. */
async function migrate(svc: PluginHandle, steps: readonly string[]): Promise<void> {
  const { name } = svc
  const store = svc.use(Store)
  for (;;) {
    const done = Number((await getValue(store, { namespace: SCHEMAS, key: name })) ?? 0)
    if (done === steps.length) return
    if (done > steps.length) {
      const problem = `the database has ${done} of them, and this version of the plugin only ${steps.length}; install the newer version, or add the missing steps again`
      throw new PluginMigrationError({ plugin: name, step: done, problem })
    }
    const step = done + 1
    await store
      .apply([claimMigration({ plugin: name, step }), runMigration({ sql: steps[done]! })])
      .catch((cause: unknown) => {
        throw new PluginMigrationError({ plugin: name, step, problem: errorMessage(cause) }, { cause })
      })
  }
}
