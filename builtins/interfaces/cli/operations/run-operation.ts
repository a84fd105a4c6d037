import { errorMessage, type Kernel, type Operation, type Role, SvcError } from '#kernel'
import type { StreamEvent } from '#lib/stream'
import type { Context } from '../context.ts'
import { type CommandSpec, DaemonAnswerError, NeedsDaemonError, type OperationRef } from '../contract.ts'
import { hiddenLine } from '../parsing/hidden.ts'
import { isChild, runInChild, runsPlugins } from '../process/child.ts'
import { openWithWarnings } from '../process/warnings.ts'
import { findProject } from '../project/project.ts'
import { INTERRUPTED, interruptible } from '../screen/interrupt.ts'
import { printable, printableJson } from '../screen/printable.ts'
import { renderOutput } from '../screen/table.ts'
import { interruptionOf } from '../screen/task-end.ts'
import { withElapsedTime } from '../screen/waiting.ts'
import { fold } from '../screen/width.ts'
import { askDaemon, type Surroundings } from './ask-daemon.ts'
import { invokeMasked } from './invoke-masked.ts'
import { openReading, readsWithBuiltins } from './open-reading.ts'

/** Runs the operation of a command: in the daemon if one answers, else in this process; the answer is the same. */
export async function runOperation(
  spec: CommandSpec,
  input: Record<string, unknown>,
  context: Context,
): Promise<number> {
  const { json, ports, named, terminal } = context
  const root = await findProject(ports, named)
  const { name, rendered, judged, endless } = spec.operation!
  if (name === 'plugins.check' && !isChild(context)) return checkInChild(root, input, context)
  if (name === 'config.set' && (await runsPlugins(root, context))) return setInChild(root, spec, input, context)
  const run = async (signal: AbortSignal) => {
    const isShown = rendered && !json
    const isReading = spec.operation!.http?.method === 'GET' && narrowing(spec, input) === ''
    // The daemon also formats answers that are only read, so that this process loads nothing of the project.
    const accept = isShown && isReading && !judged ? 'text/plain' : undefined
    const ask = () => askDaemon(root, spec.operation!, input, context, signal, accept)
    const answer = await withElapsedTime(terminal, ports.clock, ask)
    if (!answer) return runHere(root, spec, input, context, signal)
    const isWritten = accept !== undefined && typeof answer.output === 'string'
    const as = isWritten
      ? AS_WRITTEN
      : isShown || judged
        ? await findRenderer(spec.operation!, root, context)
        : undefined
    const shown = show(answer.output, as, answerContext(spec, input, answer.around), context, signal)
    return await shown.catch(error => {
      if (!(error instanceof SvcError)) throw new DaemonAnswerError({ problem: UNKNOWN_FORM }, { cause: error })
      if (!endless) throw error
      return reportStopped(error, context)
    })
  }
  const exit = await interruptible(ports.clock, run).catch(async error => {
    const { explainUnknown } = await import('./calls.ts')
    throw await explainUnknown(error, name, root, context)
  })
  const interruption = exit === INTERRUPTED ? interruptionOf(name, input) : undefined
  if (interruption) terminal.err(printable(interruption))
  return exit
}

const UNKNOWN_FORM =
  'it has carried out the command, but answered in a form that this version does not know, as an older version may; restart it with: svc restart'

/** Checks a plugin file in a child process, because its code may do anything. */
async function checkInChild(root: string, input: Record<string, unknown>, context: Context): Promise<number> {
  const words = ['plugins', 'check', ...(context.json ? ['--json'] : []), '--', String(input.file)]
  const { code, stdout, errors } = await runInChild(root, words, context)
  for (const line of errors) context.terminal.err(printable(line))
  context.terminal.part(stdout)
  return code
}

/**
 * Sets a key in a child process, because plugins define and validate keys. If a plugin ends the child, sets the key
 * here without these checks.
 */
async function setInChild(
  root: string,
  spec: CommandSpec,
  input: Record<string, unknown>,
  context: Context,
): Promise<number> {
  const { json, terminal, ports } = context
  const words = ['config', 'set', ...(json ? ['--json'] : []), '--', String(input.key), String(input.value)]
  const child = await runInChild(root, words, context).catch((error: unknown) => {
    terminal.err(printable(`svc: warning: ${errorMessage(error)}`))
    return undefined
  })
  if (!child) return interruptible(ports.clock, signal => runHere(root, spec, input, context, signal))
  for (const line of child.errors) terminal.err(printable(line))
  terminal.part(child.stdout)
  return child.code
}

/** Reports that an endless stream ended because its daemon stopped. */
function reportStopped(error: SvcError, { terminal }: Context): number {
  if (error.code !== 'server_stopping') throw error
  terminal.err(`svc: ${printable(error.message)}`)
  return 0
}

type Renderer = Pick<Operation, 'render' | 'exit'>
const AS_WRITTEN: Renderer = { render: String }

const NO_FILTERS = ['limit', 'all']

/** Describes how a list was narrowed by arguments with a `limit`, for the message of an empty one: `status denied`. */
function narrowing({ arguments: places, options, operation }: CommandSpec, input: Record<string, unknown>): string {
  if (operation?.http?.method !== 'GET' || !options.some(({ field }) => field === 'limit')) return ''
  const filters = [
    ...places.filter(({ required }) => !required),
    ...options.filter(({ field, ...option }) => !NO_FILTERS.includes(field) && input[field] !== option.default),
  ]
  const given = filters.filter(({ field }) => input[field] !== undefined)
  return given.map(({ field }) => `${field} ${input[field]}`).join(', ')
}

/** Context of a request that is printed around its answer. */
interface AnswerContext {
  narrowed: string
  /** Line that says which rows are hidden; empty when none are. */
  hidden: string
  /** Line above the answer of a command that reads. */
  notice: string
  /** Line on standard error below the answer of a command that writes: scripts read the answer. */
  remark: string
  /** Message about the effect of Ctrl-C on the task; undefined where Ctrl-C only ends the command. */
  interruption: string | undefined
}

function answerContext(
  spec: CommandSpec,
  input: Record<string, unknown>,
  { hidden = 0, notice = '' }: Surroundings = {},
): AnswerContext {
  const name = spec.operation?.hides
  const reads = spec.operation?.http?.method === 'GET'
  return {
    narrowed: narrowing(spec, input),
    hidden: name && hidden > 0 ? hiddenLine(hidden, name) : '',
    notice: reads ? notice : '',
    remark: reads ? '' : notice,
    interruption: spec.operation ? interruptionOf(spec.operation.name, input) : undefined,
  }
}

/** Prints the output of an operation; the events of a stream as they arrive. */
async function show(
  output: unknown,
  as: Renderer | undefined,
  { narrowed, hidden, notice, remark, interruption }: AnswerContext,
  context: Context,
  signal: AbortSignal,
): Promise<number> {
  const { terminal, json } = context
  const { render, exit } = as ?? {}
  if (isStream(output)) {
    const { showStream } = await import('../screen/stream.ts')
    return showStream(output, render, context, signal)
  }
  // After an interruption, the task's answer only says that its client disconnected.
  if (signal.aborted && !json && interruption !== undefined) return INTERRUPTED
  if (notice && !json) terminal.out(printable(notice))
  if (json) terminal.out(printableJson(JSON.stringify(output, null, 2)))
  else if (narrowed && Array.isArray(output) && output.length === 0)
    terminal.out(printable(`no results with ${narrowed}`))
  else if (render) terminal.out(fitToColumns(printable(render(output as never)), terminal.columns))
  else terminal.out(renderOutput(output, { columns: terminal.columns, head: terminal.style.bold }))
  if (hidden && !json) terminal.out(hidden)
  if (remark && !json) terminal.err(printable(remark))
  return exit?.(output as never) ?? 0
}

function fitToColumns(text: string, columns: number | undefined): string {
  return columns === undefined ? text : fold(text, columns)
}

function isStream(output: unknown): output is AsyncIterable<StreamEvent> {
  return typeof output === 'object' && output !== null && Symbol.asyncIterator in output
}

async function runHere(
  root: string,
  spec: CommandSpec,
  input: Record<string, unknown>,
  context: Context,
  signal: AbortSignal,
): Promise<number> {
  const { name, reach } = spec.operation!
  const { terminal, ports } = context
  if (reach === 'daemon') throw new NeedsDaemonError({ command: spec.path.join(' ') })
  await using kernel = await openProject(root, context, reach === 'config' ? [] : ['cli'], spec.operation!)
  const progress = (message: string) => terminal.err(printable(message))
  const output = await withElapsedTime(terminal, ports.clock, () =>
    invokeMasked(kernel, name, input, { signal, progress }),
  )
  const operation = await findOperation(kernel, name)
  const around = operation ? await surroundingsOf(operation, input, kernel) : {}
  // Awaited here, because a stream needs this process's kernel until it ends.
  return await show(output, operation, answerContext(spec, input, around), context, signal)
}

async function surroundingsOf(
  operation: Operation,
  input: Record<string, unknown>,
  kernel: Kernel,
): Promise<Surroundings> {
  const { hiddenCount, noticeOf } = await import('#lib/list')
  return {
    hidden: await hiddenCount(operation, input, kernel),
    notice: await noticeOf(operation, input, 'default', kernel),
  }
}

/**
 * Returns the renderer for the daemon's answer. Where this process cannot open the project, as with a bad
 * configuration, the answer is printed as JSON.
 */
async function findRenderer(operation: OperationRef, root: string, context: Context): Promise<Renderer | undefined> {
  const { name, judged } = operation
  try {
    // The daemon has done the work; only the renderer is needed.
    const asRead = { ...operation, http: { method: 'GET', path: '' } }
    await using kernel = await openProject(root, context, [], asRead)
    return await findOperation(kernel, name)
  } catch (error) {
    context.terminal.err(`svc: warning: ${printable(errorMessage(error))}`)
    // The answer is shown; whether it means success is unknown.
    return judged ? { exit: () => 1 } : undefined
  }
}

async function findOperation(kernel: Kernel, name: string): Promise<Operation | undefined> {
  const { Operations } = await import('#kernel')
  return kernel.points.find(Operations, name)
}

/** Returns the current commands of all plugins, including those of the project. */
export async function commandsOfProject(root: string, context: Context): Promise<readonly CommandSpec[]> {
  const [{ Operations }, { commandsOf }] = await Promise.all([import('#kernel'), import('../parsing/tree.ts')])
  await using kernel = await openProject(root, context, [])
  return commandsOf(kernel.list(Operations))
}

/** Opens the project, with only its warnings printed. An operation that only reads and is a builtin runs no plugin. */
async function openProject(
  root: string,
  context: Context,
  roles: readonly Role[],
  operation?: Pick<OperationRef, 'name' | 'http' | 'reach'>,
): Promise<Kernel> {
  const lenient = operation?.reach === 'config'
  if (operation && readsWithBuiltins(operation, context)) return openReading(root, context, { roles, lenient })
  // The answer itself names the bad plugins.
  if (operation?.name.startsWith('plugins.')) return context.program.open({ root, roles, log: { level: 'silent' } })
  const pluginFiles = lenient && !isChild(context) ? 'none' : 'trusted'
  return openWithWarnings(root, context, { roles, lenient, pluginFiles })
}
