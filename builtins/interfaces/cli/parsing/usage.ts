import type { Operation } from '#kernel'
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
