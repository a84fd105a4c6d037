import { near } from '#kernel'
import { type CommandSpec, UnknownCommandError } from '../contract.ts'

/** Commands of other programs, mapped to the command that does the same here. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  agents: 'status',
  ps: 'status',
  ls: 'status',
  inspect: 'runs <id>',
  chat: 'agent chat <id>',
  delete: 'kill <id>',
  rm: 'kill <id>',
  up: 'start',
  down: 'stop',
}

/**
 * Returns the command with the longest path that the words begin with. Of two with one path, as in `runs` and `runs
 * <id>`, returns the one that takes the next word. A surplus word after a command group matches nothing.
 */
export function find(commands: readonly CommandSpec[], words: readonly string[]): CommandSpec | undefined {
  const fitting = commands.filter(({ path }) => path.every((word, at) => words[at] === word))
  const longest = Math.max(0, ...fitting.map(({ path }) => path.length))
  const next = words[longest]
  const named = next !== undefined && !next.startsWith('-')
  const same = fitting.filter(({ path }) => path.length === longest)
  const best = same.find(command => command.arguments.length > 0 === named) ?? same[0]
  if (!best || best.arguments.length > 0) return best
  const isGroup = commands.some(({ path }) => path.length > best.path.length && path[0] === best.path[0])
  return isGroup && next !== undefined && !next.startsWith('-') ? undefined : best
}

/** Returns the commands below a group, as `db backup` is below `db`. */
export function subcommandsOf(commands: readonly CommandSpec[], words: readonly string[]): readonly CommandSpec[] {
  const option = words.findIndex(word => word.startsWith('-'))
  const group = option < 0 ? words : words.slice(0, option)
  return commands.filter(({ path }) => path.length > group.length && group.every((word, at) => path[at] === word))
}

/** Returns the error for unknown words, with the closest commands. */
export function unknown(commands: readonly CommandSpec[], words: readonly string[]): Error {
  const option = words.findIndex(word => word.startsWith('-'))
  const given = words.slice(0, option < 0 ? 3 : Math.max(option, 1)).join(' ')
  const names = commands.map(({ path }) => path.join(' '))
  const group = subcommandsOf(commands, words.slice(0, 1)).map(({ path }) => path.join(' '))
  const found = near(given, names)
  // An option has no closest command.
  if (option === 0) return new UnknownCommandError({ words: given, near: [] })
  const other = ELSEWHERE[words[0]!]
  const closest = other
    ? [other]
    : found.length > 0
      ? found
      : group.length > 0
        ? [...group.slice(0, 3), `${words[0]} --help`]
        : near(words[0]!, names)
  return new UnknownCommandError({ words: given, near: closest })
}
