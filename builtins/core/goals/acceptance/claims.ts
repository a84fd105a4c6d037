import type { Profile } from '#core/profiles/contract'
import { FIND_TOOLS, FINISH_GOAL, Runtime } from '#core/runtime/contract'
import type { PluginHandle } from '#kernel'
import { Store } from '#platform/store/contract'
import { Jail, type Reach } from '#safety/sandbox/contract'
import { UPDATE_PLAN } from '../pursuit/plan.ts'
import { type CommandRun, commandRuns, hasSucceeded } from './repository.ts'

/** Matches a file name: an extension that begins with a letter, no spaces, no URL. */
const FILE = /^(?!\w+:\/\/)[^\s`]*\w\.[A-Za-z]\w{0,7}$/
/** Matches a command: in backticks, or after a dollar sign. */
const COMMAND = /^(?:`([^`]+)`|\$ (.+))$/

/** Returns false claims of the evidence: files that do not exist, commands that were not run for this goal. */
export async function untrueClaims(
  svc: PluginHandle,
  goal_id: string,
  evidence: readonly string[],
  reach: Reach,
): Promise<string[]> {
  const files = evidence.map(each => each.trim()).filter(each => FILE.test(each))
  const isThere = await Promise.all(files.map(file => exists(svc, reach, file)))
  const commands = await namedCommands(svc, goal_id, evidence)
  return [
    ...files
      .filter((_, n) => !isThere[n])
      .map(file => `the file ${JSON.stringify(file)} does not exist in your workspace`),
    ...commands.filter(({ run }) => !run).map(({ command }) => `\`${command}\` was not run for this goal`),
  ]
}

/** Tools that only prepare or end the work on a goal. */
const NO_WORK = [FINISH_GOAL, FIND_TOOLS, UPDATE_PLAN]
/** Endings of files that agents write. Names such as Node.js and example.com are no files. */
const WRITTEN =
  /\w\.(?:md|txt|csv|tsv|json|ya?ml|toml|xml|html?|css|sql|py|sh|tsx?|jsx|rb|go|rs|java|log|pdf|docx?|xlsx?|png|jpe?g|svg)$/i
const LONGEST_NAME = 200
const MOST_NAMES = 10

/** Returns why the answer of an agent that did not call `finish_goal` does not show that its goal is reached. */
export async function untrueAnswer(
  svc: PluginHandle,
  { goal_id, profile, text, reach }: { goal_id: string; profile: Profile; text: string; reach: Reach },
): Promise<{ isUndone: boolean; missing: string[] }> {
  const store = svc.use(Store)
  const works = svc
    .use(Runtime)
    .toolsFor(profile)
    .names.some(name => !NO_WORK.includes(name))
  const isUndone = works && !(await hasSucceeded(store, goal_id, NO_WORK))
  const missing: string[] = []
  for (const file of filesIn(text)) {
    // A file that a call has named may be in another folder, or be gone again.
    const isKnown = (await exists(svc, reach, file)) || (await hasSucceeded(store, goal_id, NO_WORK, file))
    if (!isKnown) missing.push(file)
  }
  return { isUndone, missing }
}

/** Returns the file names in a text. */
function filesIn(text: string): string[] {
  const words = (text.match(/[\w.~/:-]+/g) ?? []).filter(word => word.length <= LONGEST_NAME)
  const names = words.map(word => word.replace(/[.:]+$/, '')).filter(name => WRITTEN.test(name))
  return [...new Set(names)].filter(name => !/:\/\/|^www\./.test(name)).slice(0, MOST_NAMES)
}

/** Returns the commands that the evidence names, each with its last run for this goal, if there was one. */
export async function namedCommands(
  svc: PluginHandle,
  goal_id: string,
  evidence: readonly string[],
): Promise<{ command: string; run: CommandRun | undefined }[]> {
  const commands = evidence.flatMap(each => {
    const [, quoted, typed] = COMMAND.exec(each.trim()) ?? []
    const command = quoted ?? typed
    return command?.includes(' ') ? [command.trim()] : []
  })
  const runs = commands.length > 0 ? await commandRuns(svc.use(Store), goal_id) : []
  return commands.map(command => {
    const written = JSON.stringify(command).slice(1, -1)
    return { command, run: runs.find(run => run.arguments.includes(written)) }
  })
}

/** Checks whether a file exists. Files outside the agent's reach are not looked up, and count as existing. */
async function exists(svc: PluginHandle, reach: Reach, file: string): Promise<boolean> {
  if (!svc.has(Jail)) return true
  try {
    return (await svc.use(Jail).resolve(reach, file)).exists
  } catch {
    return true
  }
}
