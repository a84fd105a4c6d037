import type { Operation, PointRules } from '#kernel'
import { requireFields } from '#lib/operation-fields'
import type { CliCommand } from '../contract.ts'

/** Positional argument of a command: `<name>`, `[name]`, `<name...>`. */
export interface Place {
  name: string
  required: boolean
  rest: boolean
}

/** Splits a usage string into the words of the command and its positional arguments. */
export function readUsage(usage: string): { path: string[]; places: Place[] } {
  const path: string[] = []
  const places: Place[] = []
  for (const word of usage.trim().split(/\s+/)) {
    const place = /^([<[])([\w-]+)(\.\.\.)?[>\]]$/.exec(word)
    if (place) places.push({ name: place[2]!, required: place[1] === '<', rest: place[3] !== undefined })
    else path.push(word)
  }
  return { path, places }
}

/** The commands of an operation, as its author wrote them. */
export function cliCommandsOf({ cli = [] }: Pick<Operation, 'cli'>): readonly CliCommand[] {
  return [cli].flat()
}

/**
 * Rules for commands: each is valid, and no two operations have the same. `runs` and `runs <id>` are two commands. Of
 * two with the same words, both with or both without arguments, one could never be called.
 */
export const cliInterface: PointRules<Operation> = {
  shape: {
    parse(operation) {
      const commands = cliCommandsOf(operation)
      for (const { usage } of commands) checkCommand(operation, usage)
      if (commands.length > 0 && operation.reach === 'daemon' && !operation.http)
        throw new TypeError(
          `the operation "${operation.name}" runs in the daemon, which its command reaches by a route; add one such as http: { method: 'GET', path: '/weather' }`,
        )
    },
  },
  claims: operation =>
    cliCommandsOf(operation).map(({ usage }) => {
      const { path, places } = readUsage(usage)
      return `svc ${path.join(' ')}${places.length > 0 ? ' <>' : ''}`
    }),
}

/**
 * Checks the usage string of a command.
 * @throws TypeError with an example of a valid usage
 */
function checkCommand(operation: Operation, usage: string): void {
  const { name } = operation
  if (typeof usage !== 'string')
    throw new TypeError(
      `the operation "${name}" has a command without usage; set it as in cli: { usage: 'weather <city>' }`,
    )
  const { path, places } = readUsage(usage)
  if (path.length === 0 || path.some(word => !/^[\w][\w.-]*$/.test(word)))
    throw new TypeError(`the operation "${name}" has no valid command in "${usage}"; write one such as: weather <city>`)
  const fields = places.map(place => place.name.replaceAll('-', '_'))
  requireFields(operation, `command "${usage}"`, fields)
}
