import { join } from 'node:path'
import type { CheckContext, DoctorReport } from '#interfaces/doctor/contract'
import { errorMessage, type Kernel } from '#kernel'
import { pluralize } from '#lib/pluralize'
import { DatabaseCopy } from '#platform/store/contract'
import type { Context, HandWritten } from '../context.ts'
import { NoProjectError } from '../contract.ts'
import { askDaemon } from '../operations/ask-daemon.ts'
import { explainUnknown, operationRef } from '../operations/calls.ts'
import { findProject } from '../project/project.ts'
import { INTERRUPTED, interruptible } from '../screen/interrupt.ts'
import { print, printable } from '../screen/printable.ts'
import { wrap } from '../screen/width.ts'

const CHECKS = operationRef('doctor.checks', 'GET', '/doctor')

/** Diagnoses problems of the machine, the project and its processes. */
const doctor: HandWritten = (_input, context) =>
  interruptible(context.ports.clock, async signal => {
    const { terminal } = context
    const { examine } = await context.program.doctor()
    const about = await checkContextOf(context)
    const found = await examine(about).catch(async error => {
      terminal.pass('')
      throw await explainUnknown(error, CHECKS.name, 'root' in about.project ? about.project.root : '', context)
    })
    terminal.pass('')
    if (signal.aborted) return INTERRUPTED
    const failed = found.some(({ level }) => level === 'fail')
    print(context, { ok: !failed, checks: found }, formatReports(found, context))
    return failed ? 1 : 0
  })
export default doctor

async function checkContextOf(context: Context): Promise<CheckContext> {
  const { program, ports, terminal, named } = context
  const root = await findProject(ports, named).catch((error: unknown) => {
    if (error instanceof NoProjectError) return error
    throw error
  })
  const at = typeof root === 'string' ? root : ''
  const manifest = JSON.parse(await ports.files.readFile(join(program.packageRoot, 'package.json'), 'utf8'))
  return {
    ports,
    packageRoot: program.packageRoot,
    project: typeof root === 'string' ? { root } : { missing: root.message.replace(/; make one with: svc init$/, '') },
    needsNode: (manifest as { engines: { node: string } }).engines.node,
    database: () => program.databaseFiles(),
    findDaemons: svc => program.findDaemons(ports, svc),
    findServers: svc => program.findServers(ports, svc),
    async open(roles, copy) {
      const warnings: string[] = []
      const write = (line: string) => void warnings.push((JSON.parse(line) as { msg: string }).msg)
      const prepare = (kernel: Kernel) => copy && kernel.services.provide(DatabaseCopy, copy, 'doctor')
      const log = { level: 'warn', write } as const
      return { kernel: await program.open({ root: at, roles, pluginFiles: 'none', log, prepare }), warnings }
    },
    async faults() {
      const quiet = { pluginFiles: 'none', log: { level: 'silent' } } as const
      await using kernel = await program.open({ root: at, roles: [], lenient: true, ...quiet })
      return kernel.config.faults(['start'])
    },
    async askDaemon() {
      // A daemon that does not answer has its own line in the report; the other checks still run.
      const reports = await askDaemon(at, CHECKS, {}, context).catch((error: unknown) => {
        terminal.err(printable(`svc: warning: ${errorMessage(error)}`))
        return undefined
      })
      return reports?.output as DoctorReport[] | undefined
    },
    progress: name => terminal.pass(`checking ${name}…`),
  }
}

function formatReports(found: readonly DoctorReport[], { terminal }: Context): string {
  const { style, columns = 100 } = terminal
  const paint = { ok: style.green, warn: style.yellow, fail: style.red }
  const width = Math.max(...found.map(({ name }) => name.length))
  const available = columns - width - 8
  const lines = found.map(({ name, level, message, remedy }) => {
    const text = printable(remedy ? `${message}\n→ ${remedy}` : message)
    const below = available >= 20 ? ' '.repeat(width + 8) : '  '
    const wrapped = wrap(text, available >= 20 ? available : columns - 2).join(`\n${below}`)
    const head = `${paint[level](level.padEnd(4))}  ${name.padEnd(width)}`
    return available >= 20 ? `${head}  ${wrapped}` : `${head.trimEnd()}\n  ${wrapped}`
  })
  const count = (level: DoctorReport['level']) => found.filter(each => each.level === level).length
  const sum = `${pluralize(found.length, 'check')}: ${count('ok')} ok, ${count('warn')} with warnings, ${count('fail')} failed`
  return [...lines, '', sum].join('\n')
}
