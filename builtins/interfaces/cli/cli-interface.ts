import type { Operation, PointRules } from '#kernel'
import { requireFields, requireJson } from '#lib/operation-fields'
import { OWN_COMMANDS } from './commands/index.ts'
import type { CliCommand } from './contract.ts'
import { cliCommandsOf, readUsage } from './parsing/usage.ts'

/** Options that every command has. */
const GLOBAL_OPTIONS: readonly string[] = ['json', 'root', 'help']

/**
 * Rules for commands: each is valid, and no two operations have the same. `runs` and `runs <id>` are two commands. Of
 * two with the same words, both with or both without arguments, one could never be called.
 */
export const cliInterface: PointRules<Operation> = {
  shape: {
    parse(operation) {
      const { name, reach, http } = operation
      const commands = cliCommandsOf(operation)
      for (const command of commands) checkUsage(operation, command)
      if (commands.length > 0 && reach === 'daemon' && !http)
        throw new TypeError(
          `the operation "${name}" runs in the daemon, which its command reaches by a route; add one such as http: { method: 'GET', path: '/weather' }`,
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
function checkUsage(operation: Operation, { usage }: CliCommand): void {
  const { name } = operation
  if (typeof usage !== 'string')
    throw new TypeError(
      `the operation "${name}" has a command without usage; set it as in cli: { usage: 'weather <city>' }`,
    )
  const { path, places } = readUsage(usage)
  if (path.length === 0 || path.some(word => !/^[\w][\w.-]*$/.test(word)))
    throw new TypeError(`the operation "${name}" has no valid command in "${usage}"; write one such as: weather <city>`)
  const words = path.join(' ')
  if (OWN_COMMANDS.some(own => own.path.join(' ') === words))
    throw new TypeError(
      `the operation "${name}" has the command "${words}", but svc ${words} is a command of the program; choose other words`,
    )
  const fields = places.map(place => place.name.replaceAll('-', '_'))
  requireFields(operation, `command "${usage}"`, fields)
  requireJson(operation)
  const taken = GLOBAL_OPTIONS.find(option => Object.hasOwn(operation.input.shape, option) && !fields.includes(option))
  if (taken)
    throw new TypeError(
      `the operation "${name}" has the field "${taken}", but every command has an option --${taken}; give the field another name`,
    )
}
