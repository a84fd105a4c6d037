import { join, resolve } from 'node:path'
import { projectAt } from '#kernel'
import { DaemonRunningError } from '../../daemon/contract.ts'
import type { DatabaseReport } from '../../store/contract.ts'
import type { Context, HandWritten } from '../context.ts'
import { findProject } from '../project.ts'

/** A copy of the database, taken beside whoever uses it. */
export const backup: HandWritten = async ({ file }, context) => {
  const { database, backups, files } = await place(context)
  const target = file === undefined ? join(backups, `svc-${stamp(context)}.db`) : resolve(String(file))
  const report = await files.backupDatabase(database, target, context.ports)
  return tell(context, report, `${report.file}: ${facts(report)}, checked. Put it back with: svc db restore <file>`)
}

/** A backup in the place of the database; the one before is kept. */
export const restore: HandWritten = async ({ file }, context) => {
  const { database, backups, files, svc } = await place(context)
  const found = await context.house.findDaemon(context.ports, svc)
  if (found?.alive) throw new DaemonRunningError({ pid: found.holder.pid })
  const keep = join(backups, `svc-replaced-${stamp(context)}.db`)
  const report = await files.restoreDatabase(database, resolve(String(file)), keep, context.ports)
  const before = report.kept ? ` What was there is kept as ${report.kept}.` : ''
  return tell(context, report, `${report.file} is now ${resolve(String(file))}: ${facts(report)}.${before}`)
}

/** Looks a database through. */
export const check: HandWritten = async ({ file }, context) => {
  const { database, files } = await place(context)
  const report = await files.checkDatabase(file === undefined ? database : resolve(String(file)), context.ports)
  const whole = `${report.file} is whole: ${facts(report)}.`
  tell(context, report, report.faults.length > 0 ? `${report.file} is damaged: ${report.faults.join('; ')}.` : whole)
  return report.faults.length > 0 ? 1 : 0
}

async function place({ ports, named, house }: Context) {
  const { svc, database } = projectAt(await findProject(ports, named))
  return { svc, database, backups: join(svc, 'backups'), files: await house.databaseFiles() }
}

function tell({ terminal, json }: Context, report: DatabaseReport, sentence: string): number {
  terminal.out(json ? JSON.stringify(report, null, 2) : sentence)
  return 0
}

function facts({ version, bytes }: DatabaseReport): string {
  return `schema version ${version}, ${(bytes / 1024 / 1024).toFixed(1)} MiB`
}

/** The moment, as part of a file's name. */
function stamp({ ports }: Context): string {
  const [date, time] = ports.clock.now().toISOString().replaceAll(/[-:]/g, '').split(/[T.]/)
  return `${date}-${time}`
}
