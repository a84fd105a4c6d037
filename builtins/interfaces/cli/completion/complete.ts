import type { ArgumentSpec, CommandSpec, OptionSpec } from '../contract.ts'
import { find } from '../parsing/find.ts'
import { GLOBAL } from '../parsing/help.ts'
import { TOPICS } from '../parsing/topics.ts'

/** One thing that may stand where the cursor is. */
export interface Candidate {
  word: string
  about: string
}

/** What there is of something at this moment: `agents`, `approvals`, … */
export type Values = (kind: ValueKind) => Promise<Candidate[]>
export type ValueKind = (typeof KINDS)[number] | 'presets' | 'plugins' | 'config_keys' | 'models'
const KINDS = ['agents', 'approvals', 'goals', 'sessions', 'tasks', 'runs', 'schedules', 'alarms'] as const

/** Which kind a field takes, whatever the command; a list of them in one word is divided by commas. */
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
/** Where the field alone does not say it. */
const BY_COMMAND: Readonly<Record<string, ValueKind>> = {
  'runs id': 'runs',
  'recordings show id': 'runs',
  'runs diff a': 'runs',
  'runs diff b': 'runs',
  'profiles name': 'presets',
  'plugins reload name': 'plugins',
}

/**
 * What may stand in the place of the last of these words: commands, options, and values of either.
 * @param words what stands on the line after `svc`, up to the cursor; the last one is what was typed of the one to complete
 * @returns undefined where a file's name is to stand
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

/** The command that the words begin with. Of those with the same words, as `runs` and `runs <id>`, the one that takes something. */
function commandOf(commands: readonly CommandSpec[], before: readonly string[]): CommandSpec | undefined {
  return find(commands, [...before, 'x']) ?? find(commands, before)
}

/** The words that may follow in a command's path. */
function nextWords(before: readonly string[], commands: readonly CommandSpec[]): Candidate[] {
  const found = new Map<string, string>()
  for (const { path, summary } of commands) {
    if (path.length <= before.length || !before.every((word, at) => path[at] === word)) continue
    const word = path[before.length]!
    // A word that is a command itself says what that does; else what the first below it does.
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

/** The option whose value is to come. */
function optionBefore(spec: CommandSpec, before: readonly string[]): OptionSpec | undefined {
  const last = before.at(-1)
  return spec.options.find(
    ({ name, short, type }) => type !== 'boolean' && (last === `--${name}` || (short !== null && last === `-${short}`)),
  )
}

/** The place whose turn it is. */
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
  // Almost everything that is called by a bare id is an agent.
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
