import { closestMatches } from '#kernel'
import { type CommandSpec, UnknownCommandError } from '../contract.ts'

/** Words that other programs and people use, mapped to the command that does the same here. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  agents: 'status',
  list: 'status',
  ls: 'status',
  ps: 'status',
  show: 'agent <id>',
  info: 'agent <id>',
  inspect: 'runs <id>',
  chat: 'agent chat <id>',
  ask: 'run <id> <instruction...>',
  tell: 'nudge <id> <message...>',
  message: 'nudge <id> <message...>',
  add: 'spawn <preset>',
  create: 'spawn <preset>',
  delete: 'kill <id>',
  remove: 'kill <id>',
  rm: 'kill <id>',
  unpause: 'resume <id>',
  freeze: 'daemon pause',
  unfreeze: 'daemon resume',
  set: 'config set <key> <value>',
  cost: 'spending',
  costs: 'spending',
  usage: 'spending',
  health: 'doctor',
  dashboard: 'serve',
  ui: 'serve',
  version: '--version',
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
  const found = closestMatches(given, names)
  // An option has no closest command.
  if (option === 0) return new UnknownCommandError({ words: given, near: [] })
  const other = ELSEWHERE[words[0]!]
  const closest = other
    ? [other]
    : found.length > 0
      ? found
      : group.length > 0
        ? [...group.slice(0, 3), `${words[0]} --help`]
        : namesOf(words[0]!, names)
  // `svc plugins` lists plugins, and so on: what `svc plugins list` was to do.
  const itself = words.length > 1 && names.includes(words[0]!) ? [words[0]!] : []
  return new UnknownCommandError({ words: given, near: [...new Set([...itself, ...closest])] })
}

/** Returns the commands whose last word is this one, such as `db backup`; otherwise those with close names. */
function namesOf(word: string, names: readonly string[]): string[] {
  const ending = names.filter(name => name.endsWith(` ${word}`))
  return ending.length > 0 ? ending.slice(0, 3) : closestMatches(word, names)
}
