import { join } from 'node:path'
import { errorMessage } from '#kernel'
import { type CheckContext, type DoctorFinding, type DoctorReport, finding } from './contract.ts'
import { clock, diskSpace, nativeModule, nodeVersion, openFiles, permissions, port, watches } from './machine.ts'
import { daemon, database, databaseLock, logs, moduleChecks } from './project.ts'

const { ok, fail } = finding

/** Checks a machine, a project and its processes for problems. Changes nothing and runs no plugin file. */
export async function examine(context: CheckContext): Promise<DoctorReport[]> {
  const { ports, project, progress } = context
  const found: DoctorReport[] = []
  const look = async (name: string, check: () => DoctorFinding | Promise<DoctorFinding>) => {
    progress(name)
    const result = await Promise.resolve()
      .then(check)
      .catch((error: unknown) => fail(`could not be checked: ${errorMessage(error)}`, 'see svc logs'))
    found.push({ name, ...result })
    return result.level !== 'fail'
  }

  await look('node', () => nodeVersion(context))
  const native = await look('native_module', () => nativeModule(context))
  await look('open_files', () => openFiles(ports))
  await look('watches', () => watches(ports, 'root' in project ? project.root : '.'))
  const svc = 'root' in project ? join(project.root, '.svc') : undefined
  const daemons = svc ? await context.findDaemons(svc) : []
  const servers = svc ? await context.findServers(svc) : []
  const serves = daemons.flatMap(({ alive, holder }) => (alive && holder.serves ? [holder.serves] : []))
  await look('port', () => port(ports, [...serves, ...servers]))
  if ('missing' in project) {
    await look('project', () => fail(project.missing, 'make one with: svc init'))
    return found
  }
  const { root } = project
  await look('project', () => ok(root))
  const ours = await look('permissions', () => permissions(root, ports))
  // A project's database may lie on another disk than the rest.
  await look('disk', () => diskSpace(join(root, '.svc'), ports))
  await look('clock', () => clock(root, ports))
  await look('logs', () => logs(root, ports))
  // Without access, a daemon that runs cannot be found.
  if (ours) await look('daemon', async () => daemon(daemons, ports))
  const whole = ours && native && (await look('database', () => database(root, context)))
  const free = whole && (await look('database_lock', () => databaseLock(root, context)))
  progress('modules')
  if (ours && native) found.push(...(await moduleChecks(context, whole && free)))
  return found
}
