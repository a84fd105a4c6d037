import { createHash } from 'node:crypto'
import { type Extension, errorMessage, type PluginHandle, z } from '#kernel'
import {
  defineEffect,
  getValue,
  InvalidMigrationsError,
  PluginMigrationError,
  PluginMigrations,
  Store,
  setValue,
} from './contract.ts'
import { countMigration, SCHEMAS } from './statements.ts'

/** Claims a step of a plugin: changes no row, and thereby refuses the commit, when another process has run it. */
export const claimMigration = defineEffect({
  name: 'migration.claim',
  schema: z.object({ plugin: z.string(), step: z.int().positive() }),
  mustChange: true,
  statements: claimed => countMigration(claimed),
})

export const runMigration = defineEffect({
  name: 'migration.run',
  schema: z.object({ sql: z.string() }),
  statements: ({ sql }) => ({ sql }),
})

const Migrations = z.array(z.string().regex(/\S/)).min(1)
/** Namespace of the values with the hashes of each plugin's steps, as they ran. */
const RAN = 'schema_steps'

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

/**
 * Runs the steps that no process has run yet, each in a transaction of its own.
 * @throws PluginMigrationError also for a step that was changed after it ran
 */
async function migrate(svc: PluginHandle, steps: readonly string[]): Promise<void> {
  const { name } = svc
  const store = svc.use(Store)
  const hashes = steps.map(hashOf)
  const ran = z.array(z.string()).parse((await getValue(store, { namespace: RAN, key: name })) ?? [])
  const changed = ran.findIndex((hash, n) => n < steps.length && hash !== hashes[n])
  if (changed !== -1) {
    const problem =
      'the database ran other SQL as this step; restore that, and put the change into a new step at the end'
    throw new PluginMigrationError({ plugin: name, step: changed + 1, problem })
  }
  for (;;) {
    const done = Number((await getValue(store, { namespace: SCHEMAS, key: name })) ?? 0)
    if (done === steps.length) return
    if (done > steps.length) {
      const problem = `the database has ${done} of them, and this version of the plugin only ${steps.length}; install the newer version, or add the missing steps again`
      throw new PluginMigrationError({ plugin: name, step: done, problem })
    }
    const step = done + 1
    await store
      .apply([
        claimMigration({ plugin: name, step }),
        setValue({ namespace: RAN, key: name, value: hashes.slice(0, step) }),
        runMigration({ sql: steps[done]! }),
      ])
      .catch((cause: unknown) => {
        throw new PluginMigrationError({ plugin: name, step, problem: errorMessage(cause) }, { cause })
      })
  }
}

const hashOf = (sql: string) => createHash('sha256').update(sql.trim().replace(/\s+/g, ' ')).digest('hex')
