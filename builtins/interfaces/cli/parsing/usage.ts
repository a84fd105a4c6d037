import type { Operation, PointRules } from '#kernel'
import { requireFields } from '#lib/operation-fields'
import type { CliCommand } from '../contract.ts'

/** A value of a command by its place: `<name>`, `[name]`, `<name...>`. */
export interface Place {
  name: string
  required: boolean
  rest: boolean
}

/** The words of a command, and what stands between and after them. */
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
 * What a command must be, and that no two operations have the same. `runs` and `runs <id>` are two commands; of two with the
 * same words, both with or without arguments, one would never run, or be run by those who meant the other.
 */
export const cliInterface: PointRules<Operation> = {
  shape: {
    parse(operation) {
      for (const { usage } of cliCommandsOf(operation)) checkCommand(operation, usage)
    },
  },
  claims: operation =>
    cliCommandsOf(operation).map(({ usage }) => {
      const { path, places } = readUsage(usage)
      return `svc ${path.join(' ')}${places.length > 0 ? ' <>' : ''}`
    }),
}

/** @throws TypeError that says what would be right */
function checkCommand(operation: Operation, usage: string): void {
  const { name } = operation
  if (typeof usage !== 'string')
    throw new TypeError(`the operation "${name}" has a command without usage: cli is { usage: 'weather <city>' }`)
  const { path, places } = readUsage(usage)
  if (path.length === 0 || path.some(word => !/^[\w][\w.-]*$/.test(word)))
    throw new TypeError(`the operation "${name}" has no command in "${usage}"; write one such as: weather <city>`)
  const fields = places.map(place => place.name.replaceAll('-', '_'))
  requireFields(operation, `command "${usage}"`, fields)
}
