import type { PluginHandle } from '#kernel'
import { Store } from '#platform/store/contract'
import { Jail, type Reach } from '#safety/sandbox/contract'
import { commandArguments } from './repository.ts'

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
  const named = evidence.map(each => each.trim())
  const files = named.filter(each => FILE.test(each))
  const commands = named.flatMap(each => {
    const [, quoted, typed] = COMMAND.exec(each) ?? []
    const command = quoted ?? typed
    return command?.includes(' ') ? [command.trim()] : []
  })
  const isThere = await Promise.all(files.map(file => exists(svc, reach, file)))
  const run = commands.length > 0 ? await commandArguments(svc.use(Store), goal_id) : []
  const isRun = (command: string) => run.some(args => args.includes(JSON.stringify(command).slice(1, -1)))
  return [
    ...files
      .filter((_, n) => !isThere[n])
      .map(file => `the file ${JSON.stringify(file)} does not exist in your workspace`),
    ...commands.filter(command => !isRun(command)).map(command => `\`${command}\` was not run for this goal`),
  ]
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
