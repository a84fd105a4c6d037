import { join } from 'node:path'
import { describeIssues, errorMessage, type Ports, SvcError } from '#kernel'
import { DiskFullError } from '#lib/errors'
import { projectAt } from '#lib/project'
import { readYaml } from '#lib/yaml'
import type { FoundDaemon } from '#platform/daemon/contract'
import { DatabaseUnusableError } from '#platform/store/contract'
import { type CheckContext, type DoctorFinding, type DoctorReport, finding } from './contract.ts'
import { shellWord } from './machine.ts'

const { ok, warn, fail } = finding

const LOGS_MOST = 500 * 1024 * 1024
const MIB = 1024 * 1024

export async function database(root: string, { ports, database }: CheckContext): Promise<DoctorFinding> {
  const file = join(root, '.svc', 'svc.db')
  try {
    const loss = await (await database()).lossOf(file, ports)
    if (loss) throw loss
    if (!(await ports.files.stat(file).catch(() => undefined))) return noDatabase(root, ports)
    const { checkDatabase, schemaVersion } = await database()
    const { version, bytes, faults } = await checkDatabase(file, ports)
    const [fault] = faults
    if (fault) return fail(`${file} is damaged: ${fault}`, 'stop the service, then: svc db restore .svc/backups/<file>')
    if (version < schemaVersion)
      return warn(
        `intact, but has schema version ${version}, and this version of svc needs ${schemaVersion}`,
        'svc stop, then svc start, which copies it to .svc/backups/ and migrates it',
      )
    return ok(`intact, schema version ${version}, ${(bytes / MIB).toFixed(1)} MiB`)
  } catch (error) {
    return databaseFinding(error) ?? fail(errorMessage(error), 'check the database with: svc db check')
  }
}

async function noDatabase(root: string, { files, env }: Ports): Promise<DoctorFinding> {
  const { values } = await readYaml(files, projectAt(root).config).catch(() => ({
    values: {} as Record<string, unknown>,
  }))
  const url = env.SVC_STORE_URL ?? (values.store as { url?: unknown } | undefined)?.url
  if (url) return ok('in PostgreSQL, which several machines can share')
  const workspaces = await files.readdir(join(root, '.svc', 'workspaces')).catch(() => [])
  if (workspaces.length === 0) return ok('none yet; the first start makes it')
  const remedy =
    'restore a backup: svc db restore .svc/backups/<file>; without one, a start creates a new database without agents'
  return fail(`${join(root, '.svc', 'svc.db')} is missing, although agents have run here`, remedy)
}

/** Splits an error's message into the problem and the remedy at its end. */
function databaseFinding(error: unknown): DoctorFinding | undefined {
  if (!(error instanceof DatabaseUnusableError || error instanceof DiskFullError)) return undefined
  const [problem, ...remedy] = error.message.replace(/\.$/, '').split('; ')
  return fail(problem!, remedy.join('; '))
}

export async function databaseLock(root: string, { ports, database }: CheckContext): Promise<DoctorFinding> {
  const file = join(root, '.svc', 'svc.db')
  if (!(await ports.files.stat(file).catch(() => undefined))) return ok('no process holds it')
  try {
    if (!(await (await database()).isLocked(file, ports))) return ok('it can be written')
    return fail(`A process keeps ${file} locked`, `end the process; find it with: fuser ${shellWord(file)}`)
  } catch (error) {
    return fail(`${file} cannot be opened: ${errorMessage(error)}`, 'check the database with: svc db check')
  }
}

/** Checks whether the daemon runs and makes progress, and for files left by a dead one. */
export async function daemon(found: readonly FoundDaemon[], { clock }: Ports): Promise<DoctorFinding> {
  const alive = found.filter(each => each.alive)
  const dead = found.find(each => !each.alive)
  const stalled = alive.find(each => each.stalled)
  if (stalled) {
    const idle = Math.round((clock.ms() - stalled.ticked_at) / 1000)
    return fail(
      `The daemon (PID ${stalled.holder.pid}) has made no progress for ${idle} s`,
      'see why in svc logs, then: svc restart',
    )
  }
  const failing = alive.find(each => each.failing)
  if (failing) {
    return fail(`Heartbeats of the daemon (PID ${failing.holder.pid}) fail`, 'see why in svc logs')
  }
  if (dead) {
    const { name, holder } = dead
    return warn(
      `.svc/${name}.pid is stale: process ${holder.pid} ended without removing it`,
      'remove it with: svc stop',
    )
  }
  const [first] = alive
  return first ? ok(`runs with PID ${first.holder.pid}`) : ok('not running; start it with: svc start')
}

export async function logs(root: string, { files }: Ports): Promise<DoctorFinding> {
  const folder = join(root, 'logs')
  let bytes = 0
  for (const entry of await files.readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])) {
    if (entry.isFile()) bytes += (await files.stat(join(entry.parentPath, entry.name)).catch(() => ({ size: 0 }))).size
  }
  const usage = `${(bytes / MIB).toFixed(1)} MiB in ${folder}`
  return bytes > LOGS_MOST
    ? warn(usage, 'keep fewer runs: svc config set retention.max_runs 10, then: svc retention run')
    : ok(usage)
}

/**
 * Runs the checks of modules: in the daemon, if one answers, with its plugins and its environment; else in a process
 * without plugins.
 */
export async function moduleChecks(context: CheckContext, usable: boolean): Promise<DoctorReport[]> {
  const answered = usable ? await context.askDaemon() : undefined
  // Without a daemon the modules check a copy, because opening a database writes to it.
  const file = join('root' in context.project ? context.project.root : '.', '.svc', 'svc.db')
  const isHere = usable && answered === undefined
  const copy = isHere ? await (await context.database()).snapshot(file, context.ports) : undefined
  try {
    return await look(context, usable, answered, copy?.file)
  } finally {
    await copy?.discard()
  }
}

async function look(
  context: CheckContext,
  usable: boolean,
  answered: readonly DoctorReport[] | undefined,
  copy: string | undefined,
): Promise<DoctorReport[]> {
  const opened = await context.open(copy ? ['cli'] : [], copy).catch((error: unknown) => ({ error }))
  if ('error' in opened) {
    const found = databaseFinding(opened.error)
    if (found) return [{ name: 'start', ...found }]
    if (!(opened.error instanceof SvcError)) {
      return [{ name: 'config', ...fail(errorMessage(opened.error), 'reinstall svc: its files are incomplete') }]
    }
    const faults = await context.faults()
    const message = faults.length > 0 ? describeIssues(faults) : opened.error.message
    const remedy =
      'correct it; svc config unset <key> removes a key from the file, .svc/schema/config.json defines the valid values'
    return [{ name: 'config', ...fail(message, remedy) }, ...(answered ?? [])]
  }
  const { kernel, warnings } = opened
  try {
    const unknown = kernel.config.unknownKeys()
    const config: DoctorReport[] = [
      { name: 'config', ...ok('.svc/config.yaml is valid') },
      {
        name: 'config_keys',
        ...(unknown.length > 0
          ? warn(
              unknown.map(({ path, message }) => `${path}: ${message}`).join('; '),
              'list the known keys with: svc config',
            )
          : ok('all keys of the file are known')),
      },
    ]
    if (!usable) return config
    const checks = answered ?? ((await kernel.invoke('doctor.checks', {})) as DoctorReport[])
    const isReported = (line: string) => checks.some(({ message }) => message.includes(line))
    const others = warnings.filter(line => !unknown.some(({ path }) => line.includes(path)) && !isReported(line))
    const startReports = others.map(
      (line): DoctorReport => ({ name: 'start', ...warn(line, 'follow the advice in the message') }),
    )
    return [...config, ...checks, ...startReports]
  } finally {
    await kernel.close()
  }
}
