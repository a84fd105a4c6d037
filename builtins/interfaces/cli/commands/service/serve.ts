import { Rest } from '#interfaces/rest/contract'
import type { Kernel, Role } from '#kernel'
import { Daemon } from '#platform/daemon/contract'
import type { Context, HandWritten } from '../../context.ts'
import {
  type AnnouncedFact,
  announce,
  budgetLines,
  checkStart,
  daemonLines,
  modelLine,
  presetsOf,
  spawnMissing,
} from '../../process/announce.ts'
import { writeHeartbeat } from '../../process/heartbeat.ts'
import { serveUntilSignal } from '../../process/service.ts'
import { findProject } from '../../project/project.ts'
import { inDevelopment } from '../project/development.ts'
import { runReloading } from '../project/reloading.ts'

/** Serves the dashboard and the API; with `--with-daemon` also runs the agents in the same process. */
const serve: HandWritten = async (input, context) => {
  const port = Number(input.port ?? 8000)
  const host = String(input.host ?? '127.0.0.1')
  const root = await findProject(context.ports, context.named)
  await writeHeartbeat(context, root, input.heartbeat)
  if (input.reload === true)
    return runReloading(['serve', ...wordsOf({ ...input, dev: true }, context), '--root', root], context)
  const withDaemon = input.with_daemon === true
  const roles: Role[] = withDaemon ? ['server', 'daemon'] : ['server']
  const presets = presetsOf(input.profiles)
  let url = ''
  return serveUntilSignal(root, roles, input.dev === true ? inDevelopment(context) : context, {
    async beforeHeartbeat(kernel, life) {
      await checkStart(kernel, 'serve', presets, ['rest'])
      url = (await kernel.use(Rest).listen({ host, port }, { described: true })).url
      await life('listening', { url })
    },
    async begin(kernel, journal) {
      await spawnMissing(kernel, presets)
      return announce(context.tree.version, root, [
        { label: 'Dashboard', text: `${url}/`, facts: { url, daemon: false } },
        { label: 'API', text: `${url}/openapi.json` },
        { label: 'Logs', text: journal.file, facts: { log: journal.file } },
        await modelLine(kernel),
        ...(await budgetLines(kernel)),
        ...(withDaemon ? await daemonLines(kernel) : [await otherDaemonLine(kernel)]),
      ])
    },
  })
}
export default serve

/** Returns the options of the command as arguments, without `--reload` and `--heartbeat`. */
export function wordsOf(
  { host, port, with_daemon, profiles, dev }: Readonly<Record<string, unknown>>,
  { json }: Pick<Context, 'json'>,
): string[] {
  return [
    ...(host === undefined ? [] : ['--host', String(host)]),
    ...(port === undefined ? [] : ['--port', String(port)]),
    ...(with_daemon === true ? ['--with-daemon'] : []),
    ...(profiles === undefined ? [] : ['--profiles', String(profiles)]),
    ...(dev === true ? ['--dev'] : []),
    ...(json ? ['--json'] : []),
  ]
}

/** Returns which other process runs the agents, or how to start one. */
async function otherDaemonLine(kernel: Kernel): Promise<AnnouncedFact> {
  const found = await kernel.use(Daemon).find()
  const text = found?.alive
    ? `PID ${found.holder.pid}, in another process`
    : 'not in this process; agents run only while a daemon runs: svc start'
  return { label: 'Daemon', text }
}
