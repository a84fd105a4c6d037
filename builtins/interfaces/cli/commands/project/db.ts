import { dirname, join, resolve } from 'node:path'
import { errorMessage, type Ports, SvcError } from '#kernel'
import { pluralize } from '#lib/pluralize'
import { projectAt } from '#lib/project'
import { readYaml } from '#lib/yaml'
import { DaemonRunningError } from '#platform/daemon/contract'
import type { DatabaseFiles, DatabaseReport } from '#platform/store/contract'
import type { Context, HandWritten } from '../../context.ts'
import { CannotWriteError } from '../../contract.ts'
import { askDaemon } from '../../operations/ask-daemon.ts'
import { operationRef } from '../../operations/calls.ts'
import { invokeMasked } from '../../operations/invoke-masked.ts'
import { cannotWrite, makeFolder } from '../../project/make-files.ts'
import { findProject } from '../../project/project.ts'
import { print, printable } from '../../screen/printable.ts'

const SAVE = operationRef('store.backup', 'POST', '/database/backup')
const MENDED = 'Stop the service, then restore the last good backup: svc db restore .svc/backups/<file>'

/** Copies the database while other processes use it. */
export const backup: HandWritten = async ({ file }, context) => {
  if (await isShared(context)) {
    const input = file === undefined ? {} : { file: resolve(String(file)) }
    const report = await invokeInProject<DatabaseReport>(context, 'cluster.backup', input)
    return print(context, report, `${report.file}: ${facts(report)}, checked. Restore it with: svc db restore <file>`)
  }
  const { database, backups, files } = await place(context)
  const target = file === undefined ? join(backups, `svc-${stamp(context)}.db`) : resolve(String(file))
  const lost = await files.lossOf(database, context.ports)
  const saved = lost && (await savedByDaemon(context))
  const report = await backUp(files, saved ?? database, target, context.ports).catch(error => {
    throw error instanceof SvcError ? error : cannotWrite(target, error)
  })
  if (saved) await context.ports.files.rm(saved)
  if (lost) {
    const next = `To use it, stop the project's processes (svc stop, and svc serve), then: svc db restore ${report.file}`
    return print(context, report, `${report.file}: ${facts(report)}, checked. ${next}`)
  }
  return print(context, report, `${report.file}: ${facts(report)}, checked. Restore it with: svc db restore <file>`)
}

async function backUp(files: DatabaseFiles, database: string, target: string, ports: Ports): Promise<DatabaseReport> {
  const isOwn = dirname(target) === join(dirname(database), 'backups')
  if (isOwn) await makeFolder(ports.files, dirname(target), 0o700)
  else
    await ports.files.stat(dirname(target)).catch(error => {
      if (error.code !== 'ENOENT') throw error
      throw new CannotWriteError({ path: target, problem: 'there is no such folder', remedy: 'create it first' })
    })
  return files.backupDatabase(database, target, ports)
}

/**
 * Asks the daemon for the backup, because it still has the data of a database whose files were removed.
 * @returns the file; undefined if no daemon can do it, so that the files are copied
 */
async function savedByDaemon(context: Context): Promise<string | undefined> {
  const root = await findProject(context.ports, context.named)
  const answer = await askDaemon(root, SAVE, {}, context).catch((error: unknown) => {
    context.terminal.err(printable(`svc: warning: the daemon could not back up its database: ${errorMessage(error)}`))
    return undefined
  })
  return (answer?.output as DatabaseReport | undefined)?.file
}

/** Replaces the database by a backup, and keeps the replaced one. */
export const restore: HandWritten = async ({ file }, context) => {
  if (await isShared(context)) {
    const input = { file: resolve(String(file)) }
    const report = await invokeInProject<{ rows: number; kept: string }>(context, 'cluster.restore', input)
    const sentence = `The database was restored from ${input.file}: ${pluralize(report.rows, 'row')}. The previous content is kept as ${report.kept}.`
    return print(context, report, sentence)
  }
  const { database, backups, files, svc } = await place(context)
  const found = await context.program.findDaemon(context.ports, svc)
  // Ending the daemon would lose the data of removed files that it still has open.
  const lost = found?.alive ? await files.lossOf(database, context.ports) : undefined
  if (lost) throw lost
  if (found?.alive) throw new DaemonRunningError({ pid: found.holder.pid })
  const keep = join(backups, `svc-replaced-${stamp(context)}.db`)
  const report = await files.restoreDatabase(database, resolve(String(file)), keep, context.ports)
  const { peek } = await context.program.peek()
  // A backup of a PostgreSQL database also contains what is in files here.
  if ((await peek(database, 'SELECT 1 FROM svc_files', context.ports)).length > 0)
    await invokeInProject(context, 'cluster.unpack', {})
  const before = report.kept ? ` The previous database is kept as ${report.kept}.` : ''
  return print(context, report, `${report.file} was restored from ${resolve(String(file))}: ${facts(report)}.${before}`)
}

/** Checks the integrity of a database. */
export const check: HandWritten = async ({ file }, context) => {
  if (file === undefined && (await isShared(context))) {
    const report = await invokeInProject<{ at: string; version: number; rows: number; faults: string[] }>(
      context,
      'cluster.check',
      {},
    )
    const { at, version, rows, faults } = report
    const whole = `The database at ${at} is intact: schema version ${version}, ${pluralize(rows, 'row')}.`
    print(
      context,
      report,
      faults.length > 0 ? `The database at ${at} is damaged: ${faults.join('; ')}. ${MENDED}` : whole,
    )
    return faults.length > 0 ? 1 : 0
  }
  const { database, files } = await place(context)
  const report = await files.checkDatabase(file === undefined ? database : resolve(String(file)), context.ports)
  const whole = `${report.file} is intact: ${facts(report)}.`
  const damaged = `${report.file} is damaged: ${report.faults.join('; ')}. ${MENDED}`
  print(context, report, report.faults.length > 0 ? damaged : whole)
  return report.faults.length > 0 ? 1 : 0
}

async function place({ ports, named, program }: Context) {
  const { svc, database } = projectAt(await findProject(ports, named))
  return { svc, database, backups: join(svc, 'backups'), files: await program.databaseFiles() }
}

/** Returns whether the project uses PostgreSQL. */
async function isShared({ ports, named }: Context): Promise<boolean> {
  if (ports.env.SVC_STORE_URL !== undefined) return ports.env.SVC_STORE_URL !== ''
  const { config } = projectAt(await findProject(ports, named))
  // A configuration file with errors counts as empty.
  const { values } = await readYaml(ports.files, config).catch(() => ({ values: {} as Record<string, unknown> }))
  return Boolean((values.store as { url?: unknown } | undefined)?.url)
}

/** Runs an operation of the project in this process. */
async function invokeInProject<R>({ ports, named, program }: Context, operation: string, input: object): Promise<R> {
  const root = await findProject(ports, named)
  const kernel = await program.open({ root, roles: ['cli'], log: { level: 'error' } })
  try {
    return await invokeMasked<R>(kernel, operation, input)
  } finally {
    await kernel.close()
  }
}

function facts({ version, bytes }: DatabaseReport): string {
  return `schema version ${version}, ${(bytes / 1024 / 1024).toFixed(1)} MiB`
}

/** Returns the time for a file name, in milliseconds, so that names differ. */
function stamp({ ports }: Context): string {
  return ports.clock.now().toISOString().replaceAll(/[-:Z]/g, '').replaceAll(/[T.]/g, '-')
}
