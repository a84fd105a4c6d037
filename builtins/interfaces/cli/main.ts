import { join } from 'node:path'
import { errorMessage, type Ports, SvcError } from '#kernel'
import { systemPorts } from '#lib/system-ports'
import { OWN_COMMANDS } from './commands/index.ts'
import type { CliProgram, Context } from './context.ts'
import type { CommandSpec, CommandTree } from './contract.ts'
import { find, subcommandsOf, unknown } from './parsing/find.ts'
import { groupOf, helpOf, overviewOf } from './parsing/help.ts'
import { parse } from './parsing/parse.ts'
import { sendToParent } from './process/detached.ts'
import { watchStrays } from './process/strays.ts'
import { withFiles } from './project/files.ts'
import { cannotWrite, explainFileError } from './project/make-files.ts'
import { findProject } from './project/project.ts'
import { hasPlugins, trustByCommand } from './project/trust.ts'
import { INTERRUPTED } from './screen/interrupt.ts'
import { report } from './screen/report.ts'
import { Terminal } from './screen/terminal.ts'

/**
 * The command line: finds the command, parses its words, runs it. Expensive modules are imported by the command.
 * @returns the exit code, as `svc help exit-codes` lists it
 */
export async function main(argv: readonly string[], program: CliProgram): Promise<number> {
  const ports = systemPorts()
  const terminal = new Terminal(ports.env)
  const unwatch = watchStrays(terminal)
  try {
    const exit = await run(argv, program, ports, terminal).catch(thrown =>
      reportFailure(thrown, ports, terminal, includesAny(argv, '--json')),
    )
    // After an interruption, no reader waits for the output.
    const failure = exit === INTERRUPTED ? undefined : await terminal.flush(ports.clock)
    return failure ? await reportFailure(cannotWrite('standard output', failure), ports, terminal, false) : exit
  } finally {
    await unwatch()
  }
}

async function reportFailure(thrown: unknown, { env }: Ports, terminal: Terminal, json: boolean): Promise<number> {
  const error = explainFileError(thrown)
  const exit = report(error, terminal, json)
  await sendToParent(env, { failed: errorMessage(error), exit })
  return exit
}

async function run(argv: readonly string[], program: CliProgram, ports: Ports, terminal: Terminal): Promise<number> {
  const { named, json: first, words } = takeGlobal(argv)
  const tree = await readTree(ports, join(program.packageRoot, 'dist', 'commands.json'))
  if (!tree) throw new Error(`${program.packageRoot} is not built; build it with: npm run build`)
  if (words[0] === '--version' || words[0] === '-v') {
    terminal.out(includesAny(words, '--json') || first ? JSON.stringify({ version: tree.version }) : tree.version)
    return 0
  }
  const builtin = [...OWN_COMMANDS, ...tree.commands]
  // A plugin that replaces a module keeps its commands, which are listed once.
  const taken = new Set(builtin.map(({ path }) => path.join(' ')))
  const added = (await projectCommands(ports, named)).filter(({ path }) => !taken.has(path.join(' ')))
  const commands = [...builtin, ...added]
  const context = { program, ports, terminal, tree, commands, named, json: false }
  // Shell completion calls this on each Tab with an incomplete line, so the words are not parsed.
  if (words[0] === '__complete') return (await import('./completion/answer.ts')).answer(words.slice(1), context)
  if (words[0] === '__schema') {
    const { writeConfigSchema } = await import('./project/schemas.ts')
    terminal.out(String(await writeConfigSchema(await findProject(ports, named), context)))
    return 0
  }
  const wantsHelp = includesAny(words, '--help', '-h')
  if (words.length === 0 || (wantsHelp && words[0]!.startsWith('-'))) {
    terminal.out(overviewOf(commands, tree, terminal))
    return 0
  }
  const spec = find(commands, words) ?? (await lateCommand(context, words))
  const group = wantsHelp && !spec ? subcommandsOf(commands, words) : []
  if (!spec && group.length === 0) throw unknown(commands, words)
  if (!spec || wantsHelp) {
    terminal.out(spec ? helpOf(spec, commands, terminal) : groupOf(group, terminal))
    return 0
  }
  const { input, json, root } = parse(spec, words.slice(spec.path.length), commands)
  const callContext = { ...context, json: first || json, named: root ?? named }
  return execute(spec, await withFiles(spec, input, ports.files), callContext)
}

async function execute(spec: CommandSpec, input: Record<string, unknown>, context: Context): Promise<number> {
  const own = OWN_COMMANDS.find(command => command === spec)
  if (own) {
    await trustByCommand(own.path, context)
    return own.run(input, context)
  }
  if (spec.operation?.name === 'goals.abandon_all') return abandonGoals(spec, input, context)
  const { runOperation } = await import('./operations/run-operation.ts')
  return runOperation(spec, input, context)
}

/** Lets a person at a terminal choose the goals when the command names none. */
async function abandonGoals(spec: CommandSpec, input: Record<string, unknown>, context: Context): Promise<number> {
  const [{ canChooseGoals, chooseGoals }, { runOperation }] = await Promise.all([
    import('./screen/choose-goals.ts'),
    import('./operations/run-operation.ts'),
  ])
  if (!canChooseGoals(input, context)) return runOperation(spec, input, context)
  const chosen = await chooseGoals(input, context)
  if (!chosen) return INTERRUPTED
  let exit = 0
  for (const each of chosen) {
    exit = await runOperation(spec, each, context).catch(error => {
      // A subgoal ends with its parent.
      if (error instanceof SvcError && error.code === 'goal_ended') return exit
      throw error
    })
  }
  return exit
}

/** Splits off `--root` and `--json`, which may stand before the command. */
function takeGlobal(argv: readonly string[]): { named?: string | undefined; json: boolean; words: readonly string[] } {
  const [first, second, ...rest] = argv
  if (first === '--json') return { ...takeGlobal(argv.slice(1)), json: true }
  if (first === '--root' && second !== undefined) return { named: second, ...takeGlobal(rest) }
  if (first?.startsWith('--root=')) return { named: first.slice('--root='.length), ...takeGlobal(argv.slice(1)) }
  return { json: false, words: argv }
}

function includesAny(words: readonly string[], ...options: string[]): boolean {
  const end = words.indexOf('--')
  return (end < 0 ? words : words.slice(0, end)).some(word => options.includes(word))
}

async function readTree({ files }: Pick<Ports, 'files'>, file: string): Promise<CommandTree | undefined> {
  try {
    const tree = JSON.parse(await files.readFile(file, 'utf8')) as CommandTree
    return Array.isArray(tree.commands) ? tree : undefined
  } catch {
    return undefined
  }
}

async function projectCommands(ports: Ports, named: string | undefined): Promise<readonly CommandSpec[]> {
  const root = await findProject(ports, named).catch(() => undefined)
  const tree = root ? await readTree(ports, join(root, '.svc', 'commands.json')) : undefined
  return tree?.commands ?? []
}

/** Finds a command of a plugin that no process has run yet; opens the project for that. */
async function lateCommand(context: Context, words: readonly string[]): Promise<CommandSpec | undefined> {
  const root = await findProject(context.ports, context.named).catch(() => undefined)
  if (!root || !(await hasPlugins(context.ports, root))) return undefined
  const { commandsOfProject } = await import('./operations/run-operation.ts')
  return find(await commandsOfProject(root, context), words)
}
