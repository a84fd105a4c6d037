import type { PluginHandle } from '#kernel'
import { Store } from '#platform/store/contract'
import { Jail, type Reach } from '#safety/sandbox/contract'
import { commandsOf } from './repository.ts'

/** A file name: an ending that begins with a letter, no spaces, no URL. */
const FILE = /^(?!\w+:\/\/)[^\s`]*\w\.[A-Za-z]\w{0,7}$/
/** A command: in backticks, or behind a dollar sign. */
const COMMAND = /^(?:`([^`]+)`|\$ (.+))$/

/** Returns what is not true of named evidence: files that are not there, commands that were not run for this goal. */
export async function untrueClaims(
  svc: PluginHandle,
  goal_id: string,
  evidence: readonly string[],
  reach: Reach,
): Promise<string[]> {
  const named = evidence.map(each => each.trim())
  const files = named.filter(each => FILE.test(each))
  const commands = named.flatMap(each => {
    const [, quoted, typed] = COMMAND.exec(each) ?? []
    const command = quoted ?? typed
    return command?.includes(' ') ? [command.trim()] : []
  })
  const isThere = await Promise.all(files.map(file => exists(svc, reach, file)))
  const run = commands.length > 0 ? await commandsOf(svc.use(Store), goal_id) : []
  const isRun = (command: string) => run.some(args => args.includes(JSON.stringify(command).slice(1, -1)))
  return [
    ...files.filter((_, n) => !isThere[n]).map(file => `there is no file ${JSON.stringify(file)} in your workspace`),
    ...commands.filter(command => !isRun(command)).map(command => `\`${command}\` was not run for this goal`),
  ]
}

/** Whether a file exists. What is out of reach is not looked for: it counts as there. */
async function exists(svc: PluginHandle, reach: Reach, file: string): Promise<boolean> {
  if (!svc.has(Jail)) return true
  try {
    return (await svc.use(Jail).resolve(reach, file)).exists
  } catch {
    return true
  }
}
