import { closestMatches, z } from '#kernel'
import { isTree } from '#lib/tree'
import type { Tool } from '#tools/toolkits/contract'

/** Maximum number of unknown arguments that one message names. */
const MAX_NAMED = 5

/** Names of the same tools in other agent frameworks, which models use from habit. */
const HABITS: Readonly<Record<string, string>> = {
  file_read: 'read read_file cat open_file view view_file',
  file_write: 'write write_file create_file save_file write_to_file',
  file_edit: 'edit edit_file multi_edit replace replace_in_file search_replace str_replace str_replace_editor',
  file_patch: 'apply_patch apply_diff patch',
  list_dir: 'ls dir list_directory list_files list_folder',
  glob: 'find find_files file_search',
  grep: 'rg ripgrep search search_files grep_search search_file_content codebase_search',
  shell_exec: 'bash sh shell exec execute execute_command run_command run_shell_command run_terminal_cmd terminal',
  process_output: 'bash_output read_process',
  process_stop: 'kill_shell kill_bash kill_process',
  ask_operator: 'ask ask_user ask_human ask_followup_question',
  update_plan: 'todo todo_write write_todos update_todo_list',
  finish_goal: 'complete complete_task task_complete attempt_completion done finish submit',
}

/** Names that models use for the same parameter, from other agent frameworks and other tools. */
const SAME_ARGUMENTS = [
  'path file_path filepath filename file_name file absolute_path paths',
  'content contents file_content file_text text message body description entry note',
  'old_text old_string old_str old search find',
  'new_text new_string new_str new replace replacement',
  'command cmd',
  'background run_in_background is_background',
  'pattern query regex',
  'to recipient target_agent agent_name agent_id agent',
  'objective goal task',
]

const BY_HABIT = new Map(
  Object.entries(HABITS).flatMap(([tool, names]) => names.split(' ').map(name => [plain(name), tool] as const)),
)

const ARGUMENTS = new Map(SAME_ARGUMENTS.flatMap(names => names.split(' ').map(name => [plain(name), names] as const)))

/** Returns the tool most likely meant by an unknown name; undefined if none is similar. */
export function meantTool(name: string, names: readonly string[]): string | undefined {
  const usual = BY_HABIT.get(plain(name))
  return usual !== undefined && names.includes(usual) ? usual : closestMatches(name, names)[0]
}

/** Returns the arguments of a call with the names of the schema for those that models name differently. */
export function withOwnNames(schema: unknown, given: unknown): unknown {
  if (!isTree(schema)) return given
  if (Array.isArray(given)) return given.map(each => withOwnNames(schema.items, each))
  const { properties, additionalProperties } = schema
  // Where any name is allowed, none is a mistake.
  if (!isTree(given) || !isTree(properties) || additionalProperties) return given
  // Given both, the tool's own name counts, and the other one is named as unknown.
  const free = new Set(Object.keys(properties).filter(name => !Object.hasOwn(given, name)))
  const own = Object.entries(given).map(([key, value]) => {
    const meant = Object.hasOwn(properties, key) ? [] : [...free].filter(name => areSame(key, name))
    const name = meant.length === 1 ? meant[0]! : key
    free.delete(name)
    return [name, typeof value === 'object' ? withOwnNames(properties[name], value) : value]
  })
  return Object.fromEntries(own)
}

/** Returns whether models use two names for the same parameter. Those of ids are alike. */
function areSame(one: string, other: string): boolean {
  const group = ARGUMENTS.get(plain(one))
  if (group !== undefined) return group === ARGUMENTS.get(plain(other))
  return isId(one) && isId(other)
}

const isId = (name: string) => /(^|_)id$/.test(name)

/** Returns a clause for each given argument that the tool would ignore, with the parameter that is likely meant. */
export function unknownParameters({ name, parameters }: Tool, given: unknown): string[] {
  if (!(parameters instanceof z.ZodObject) || parameters.def.catchall || !isTree(given)) return []
  const names = Object.keys(parameters.shape)
  const unknown = Object.keys(given).filter(key => !names.includes(key))
  return unknown.slice(0, MAX_NAMED).map(key => {
    const meant = meantParameter(
      key.slice(0, 100),
      names.filter(each => !(each in given)),
    )
    return `${key.slice(0, 100)} is no parameter of ${name}${meant ? `; did you mean ${meant}?` : ''}`
  })
}

/** Returns the closest name, or one that is a word of the given name: background of run_in_background. */
function meantParameter(given: string, names: readonly string[]): string | undefined {
  const words = given.split(/[^a-zA-Z0-9]/)
  return names.find(name => words.includes(name)) ?? closestMatches(given, names)[0]
}

/** Normalizes a name, so that `ReadFile`, `read-file` and `read_file` are equal. */
function plain(name: string): string {
  return name.replace(/[^a-z]/gi, '').toLowerCase()
}
