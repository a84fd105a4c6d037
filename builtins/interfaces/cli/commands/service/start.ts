import { join } from 'node:path'
import type { Role } from '#kernel'
import { DaemonRunningError } from '#platform/daemon/contract'
import type { HandWritten } from '../../context.ts'
import {
  announce,
  budgetLines,
  checkStart,
  daemonLines,
  modelLine,
  presetsOf,
  spawnMissing,
} from '../../process/announce.ts'
import { detach } from '../../process/detach.ts'
import { writeHeartbeat } from '../../process/heartbeat.ts'
import { serveUntilSignal } from '../../process/service.ts'
import { findProject } from '../../project/project.ts'
import { inDevelopment } from '../project/development.ts'

/** Runs the daemon in this process, or with `--detach` in one of its own. */
const start: HandWritten = async (input, context) => {
  const root = await findProject(context.ports, context.named)
  const found = await context.program.findDaemon(context.ports, join(root, '.svc'))
  const joins = input.join === true
  if (found?.alive && !joins) throw new DaemonRunningError({ pid: found.holder.pid })
  await writeHeartbeat(context, root, input.heartbeat)
  const presets = presetsOf(input.profiles)
  const dev = input.dev === true
  if (input.detach === true) {
    const words = [
      ...(presets.length > 0 ? ['-p', presets.join(',')] : []),
      ...(dev ? ['--dev'] : []),
      ...(joins ? ['--join'] : []),
      ...(context.json ? ['--json'] : []),
    ]
    return detach(root, ['start', ...words], context)
  }
  const roles: Role[] = joins ? ['daemon', 'joined'] : ['daemon']
  return serveUntilSignal(root, roles, dev ? inDevelopment(context) : context, {
    beforeHeartbeat: kernel => checkStart(kernel, 'start', presets),
    async begin(kernel, journal) {
      await spawnMissing(kernel, presets)
      return announce(context.tree.version, root, [
        ...(await daemonLines(kernel)),
        await modelLine(kernel),
        ...(await budgetLines(kernel)),
        { label: 'Logs', text: journal.file, facts: { log: journal.file } },
      ])
    },
  })
}
export default start
