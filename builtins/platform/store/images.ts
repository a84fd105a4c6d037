import type { PluginHandle } from '#kernel'
import type { DatabaseImages } from './contract.ts'

/** Loads the code for database files only when used, because that is rare. */
export function databaseImages({ ports, project }: PluginHandle): DatabaseImages {
  return {
    async open(file) {
      const { openDatabase } = await import('./sqlite/open.ts')
      const database = await openDatabase(file, ports, { synchronous: 'normal', check: false })
      return {
        all: (sql, params) => database.all(sql, params),
        write: statements =>
          database.write(() => {
            for (const statement of statements) database.run(statement)
          }),
        close: () => database.close(),
      }
    },
    copy: async (file, target) => (await import('./sqlite/files.ts')).backupDatabase(file, target, ports),
    put: async (file, keep) => (await import('./sqlite/files.ts')).restoreDatabase(project.database, file, keep, ports),
  }
}
