import type { PluginHandle } from '#kernel'
import type { DatabaseImage, DatabaseImages } from './contract.ts'
import { createSchema } from './schema.ts'
import type { Database } from './sqlite/database.ts'

/** Loads the code for database files only when used, because that is rare. */
export function databaseImages({ ports, project }: PluginHandle): DatabaseImages {
  return {
    async open(file) {
      const { openDatabase } = await import('./sqlite/open.ts')
      return imageOf(await openDatabase(file, ports, { synchronous: 'normal', check: false }))
    },
    async scratch() {
      const { connect } = await import('./sqlite/connection.ts')
      const database = await connect(':memory:', ports.clock, {})
      await createSchema(database)
      return imageOf(database)
    },
    copy: async (file, target) => (await import('./sqlite/files.ts')).backupDatabase(file, target, ports),
    put: async (file, keep) => (await import('./sqlite/files.ts')).restoreDatabase(project.database, file, keep, ports),
  }
}

function imageOf(database: Database): DatabaseImage {
  return {
    all: (sql, params) => database.all(sql, params),
    write: statements =>
      database.write(() => {
        for (const statement of statements) database.run(statement)
      }),
    close: () => database.close(),
  }
}
