import type { ArgumentSpec, CommandSpec, OptionSpec } from '../contract.ts'
import { find } from '../parsing/find.ts'
import { GLOBAL } from '../parsing/help.ts'
import { TOPICS } from '../parsing/topics.ts'

/** A possible completion. */
export interface Candidate {
  word: string
  about: string
}

/** Returns the current items of a kind, such as `agents` or `approvals`. */
export type Values = (kind: ValueKind) => Promise<Candidate[]>
export type ValueKind = (typeof KINDS)[number] | 'presets' | 'plugins' | 'config_keys' | 'models'
const KINDS = ['agents', 'approvals', 'goals', 'sessions', 'tasks', 'runs', 'schedules', 'alarms'] as const

/** Kind of each field's values, for all commands. Several values in one word are separated by commas. */
const BY_FIELD: Readonly<Record<string, ValueKind>> = {
  agent: 'agents',
  agent_id: 'agents',
  initiator: 'agents',
  participants: 'agents',
  approval_id: 'approvals',
  goal_id: 'goals',
  session_id: 'sessions',
  task_id: 'tasks',
  run_id: 'runs',
  run: 'runs',
  schedule_id: 'schedules',
  alarm_id: 'alarms',
  preset: 'presets',
  profiles: 'presets',
  key: 'config_keys',
  model: 'models',
}
/** Kind of values for single commands, where the field's name is not enough. */
const BY_COMMAND: Readonly<Record<string, ValueKind>> = {
  'runs id': 'runs',
  'recordings show id': 'runs',
  'runs diff a': 'runs',
  'runs diff b': 'runs',
  'profiles name': 'presets',
  'plugins reload name': 'plugins',
}

/**
 * Returns completions of the last word: commands, options, and values of either.
 * @param words words after `svc`, up to the cursor; the last one is the word to complete
 * @returns undefined if a file name is expected
 */
export async function complete(
  words: readonly string[],
  commands: readonly CommandSpec[],
  values: Values,
): Promise<Candidate[] | undefined> {
  const typed = words.at(-1) ?? ''
  const before = withoutRoot(words.slice(0, -1))
  if (words.at(-2) === '--root') return undefined
  if (before[0] === 'help')
    return filterByPrefix(typed, [...helpTopics(before), ...nextWords(before.slice(1), commands)])
  const spec = commandOf(commands, before)
  const wanted = spec && optionBefore(spec, before)
  if (wanted) return offer(typed, spec, wanted, values)
  if (typed.startsWith('-') && spec) return filterByPrefix(typed, optionsOf(spec, before))
  const argument = spec && argumentAt(spec, before)
  const offered = argument ? await offer(typed, spec, argument, values) : []
  return offered && [...filterByPrefix(typed, nextWords(before, commands)), ...offered]
}

/**
 * Returns the command that the words begin with. Of several, such as `runs` and `runs <id>`, the one that takes an
 * argument.
 */
function commandOf(commands: readonly CommandSpec[], before: readonly string[]): CommandSpec | undefined {
  return find(commands, [...before, 'x']) ?? find(commands, before)
}

/** The words that may follow in a command's path. */
function nextWords(before: readonly string[], commands: readonly CommandSpec[]): Candidate[] {
  const found = new Map<string, string>()
  for (const { path, summary } of commands) {
    if (path.length <= before.length || !before.every((word, at) => path[at] === word)) continue
    const word = path[before.length]!
    // A word that is itself a command gets that command's summary; otherwise the first subcommand's.
    if (!found.has(word) || path.length === before.length + 1) found.set(word, summary)
  }
  return [...found].map(([word, about]) => ({ word, about })).sort((a, b) => (a.word < b.word ? -1 : 1))
}

function helpTopics(before: readonly string[]): Candidate[] {
  return before.length > 1 ? [] : Object.entries(TOPICS).map(([word, { title }]) => ({ word, about: title }))
}

function optionsOf(spec: CommandSpec, before: readonly string[]): Candidate[] {
  const own = spec.options
    .filter(
      ({ name, short, type }) => type === 'list' || !(before.includes(`--${name}`) || before.includes(`-${short}`)),
    )
    .map(({ name, description }) => ({ word: `--${name}`, about: description }))
  const all = GLOBAL.map(([flags, about]) => ({ word: /--[a-z]+/.exec(flags)![0], about }))
  return [...own, ...all.filter(({ word }) => !before.includes(word))]
}

/** Returns the option whose value is expected. */
function optionBefore(spec: CommandSpec, before: readonly string[]): OptionSpec | undefined {
  const last = before.at(-1)
  return spec.options.find(
    ({ name, short, type }) => type !== 'boolean' && (last === `--${name}` || (short !== null && last === `-${short}`)),
  )
}

/** Returns the argument that comes next. */
function argumentAt(spec: CommandSpec, before: readonly string[]): ArgumentSpec | undefined {
  let taken = 0
  for (const [at, word] of before.entries()) {
    if (at < spec.path.length || word.startsWith('-') || optionBefore(spec, before.slice(0, at))) continue
    taken++
  }
  return spec.arguments[taken]
}

async function offer(
  typed: string,
  spec: CommandSpec,
  place: ArgumentSpec | OptionSpec,
  values: Values,
): Promise<Candidate[] | undefined> {
  if ('choices' in place && place.choices)
    return filterByPrefix(
      typed,
      place.choices.map(word => ({ word, about: '' })),
    )
  if (/^(file|path)s?$/.test(place.type) || place.field === 'file') return undefined
  const kind = kindOf(spec, place.field)
  if (!kind) return []
  const head = /^.*,/.exec(typed)?.[0] ?? ''
  return filterByPrefix(
    typed,
    (await values(kind)).map(({ word, about }) => ({ word: head + word, about })),
  )
}

function kindOf(spec: CommandSpec, field: string): ValueKind | undefined {
  // Almost every plain `id` is an agent's.
  return BY_COMMAND[[...spec.path, field].join(' ')] ?? BY_FIELD[field] ?? (field === 'id' ? 'agents' : undefined)
}

function filterByPrefix(typed: string, candidates: readonly Candidate[]): Candidate[] {
  return candidates.filter(({ word }) => word.startsWith(typed))
}

function withoutRoot(words: readonly string[]): readonly string[] {
  const at = words.indexOf('--root')
  if (at >= 0) return [...words.slice(0, at), ...words.slice(at + 2)]
  return words.filter(word => !word.startsWith('--root='))
}
