import { isAbsolute, join } from 'node:path'
import type { PluginHandle } from '#kernel'
import { Store } from '#platform/store/contract'
import { Jail, type Reach } from '#safety/sandbox/contract'
import { type CommandRun, commandRuns } from './repository.ts'

/** Matches a file name: an extension that begins with a letter, no spaces, no URL. */
const FILE = /^(?!\w+:\/\/)[^\s`]*\w\.[A-Za-z]\w{0,7}$/
/** Matches a command: in backticks, or after a dollar sign. */
const COMMAND = /^(?:`([^`]+)`|\$ (.+))$/

/** Matches the end of a command's result. */
const FAILED = /\[(exit code [1-9]\d*|The program was (?:stopped|ended)[^\]]*?)\.?\]\s*$/

/** Returns false claims of the evidence: files that do not exist, commands that were not run for this goal or failed. */
export async function untrueClaims(
  svc: PluginHandle,
  goal_id: string,
  evidence: readonly string[],
  reach: Reach,
): Promise<string[]> {
  const files = evidence.map(each => each.trim()).filter(each => FILE.test(each))
  const found = await Promise.all(files.map(file => evidenceFile(svc, reach, file)))
  const hint = otherFolders(reach).length > 0 ? ' (name files of other folders by their absolute path)' : ''
  const commands = await namedCommands(svc, goal_id, evidence)
  return [
    ...files
      .filter((_, n) => found[n] === undefined)
      .map(file => `the file ${JSON.stringify(file)} does not exist in your workspace${hint}`),
    ...commands.flatMap(each => problemOf(each) ?? []),
  ]
}

function problemOf({ command, run }: NamedCommand): string | undefined {
  if (!run) return `\`${command}\` was not run for this goal`
  const [, end] = FAILED.exec(run.outcome ?? '') ?? []
  return end && `\`${command}\` failed when you last ran it (${end})`
}

/** A command that the evidence names, with its last run for this goal, if there was one. */
interface NamedCommand {
  command: string
  run: CommandRun | undefined
}

/** Returns the commands that the evidence names: those marked as one, and others that were run for the goal. */
export async function namedCommands(
  svc: PluginHandle,
  goal_id: string,
  evidence: readonly string[],
): Promise<NamedCommand[]> {
  const commands = evidence.flatMap(each => {
    const text = each.trim()
    const [, quoted, typed] = COMMAND.exec(text) ?? []
    const command = (quoted ?? typed ?? text).trim()
    return command.includes(' ') ? [{ command, isMarked: command !== text }] : []
  })
  const tools = commands.flatMap(({ command }) => toolsIn(command))
  const runs = commands.length > 0 ? await commandRuns(svc.use(Store), goal_id, tools) : []
  return commands.flatMap(({ command, isMarked }) => {
    const written = JSON.stringify(command)
    const ran = (text: string) => runs.find(each => each.arguments.includes(text))
    // Without a mark it may be prose, unless it is exactly what was run.
    const run = isMarked
      ? (ran(written.slice(1, -1)) ?? runs.find(each => toolsIn(command).includes(each.tool)))
      : ran(written)
    return isMarked || run ? [{ command, run }] : []
  })
}

/** Returns the tools that a command may name: git_status runs `git status`, and `query_world jobs` has an argument. */
function toolsIn(command: string): string[] {
  const [first = '', second = ''] = command.split(/\s+/, 2)
  return [first, `${first}_${second}`]
}

/**
 * Returns the path of a file of the evidence, in the workspace or in the only other folder that has it; undefined if
 * there is none. Files outside the agent's reach are not looked up, and count as existing.
 */
export async function evidenceFile(svc: PluginHandle, reach: Reach, file: string): Promise<string | undefined> {
  if (!svc.has(Jail)) return file
  const exists = async (path: string) => (await svc.use(Jail).resolve(reach, path)).exists
  try {
    if (await exists(file)) return file
    if (isAbsolute(file)) return undefined
    const paths = otherFolders(reach).map(folder => join(folder, file))
    const areThere = await Promise.all(paths.map(exists))
    const found = paths.filter((_, n) => areThere[n])
    return found.length === 1 ? found[0] : undefined
  } catch {
    return file
  }
}

function otherFolders({ workspace, scratch = workspace, folders = [] }: Reach): string[] {
  return [...new Set([scratch, ...folders.map(({ path }) => path)])].filter(path => path !== workspace)
}
