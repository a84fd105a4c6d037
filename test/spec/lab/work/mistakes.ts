import type { ToolUse } from '#lab/benchmark/contract'
import { type Answer, text, together, toolCall } from '../../../support/index.ts'

/** What a model sees after a turn. */
export interface Seen {
  results: readonly { name: string; content: string; failed: boolean }[]
  /** Text of the user messages. */
  said: string
}

/** Turns of a model. Each receives the outcome of the turn before. Returns whether the step is done. */
export type Turns = Generator<Answer, boolean, Seen>

/** Replaces a step by a mistake; undefined where it does not apply. */
export type Mistake = (step: ToolUse, random: () => number) => (() => Turns) | undefined

/** Mistakes by name: how often they were made, and how often the answer showed the way out. */
export type Ledger = Map<string, { made: number; helped: number }>

export const call = ({ tool, arguments: args }: ToolUse): Answer => toolCall(tool, args)
export const hasFailed = ({ results }: Seen) => results.some(({ failed }) => failed)
const shown = ({ results, said }: Seen) => [...results.map(({ content }) => content), said].join('\n')

/** Names of the same tools in other agent harnesses. */
const FOREIGN_NAMES: Readonly<Record<string, readonly string[]>> = {
  file_read: ['read_file', 'Read', 'cat', 'open_file'],
  file_write: ['write_file', 'Write', 'create_file', 'write_to_file'],
  file_edit: ['edit_file', 'Edit', 'str_replace', 'replace_in_file'],
  list_dir: ['ls', 'list_directory', 'list_files', 'LS'],
  shell_exec: ['bash', 'Bash', 'execute_command', 'run_shell_command', 'terminal'],
  grep: ['search_files', 'ripgrep', 'grep_search', 'Grep'],
  glob: ['find_files', 'Glob'],
  process_output: ['BashOutput', 'read_process'],
  ask_operator: ['ask_user', 'ask_followup_question'],
  finish_goal: ['complete_task', 'attempt_completion', 'done', 'finish'],
}
const FOREIGN_ARGUMENTS: Readonly<Record<string, string>> = {
  path: 'file_path',
  old_text: 'old_string',
  new_text: 'new_string',
  command: 'cmd',
  content: 'text',
  pattern: 'query',
}

const pick = <T>(all: readonly T[], random: () => number): T => all[Math.floor(random() * all.length)]!

/** Makes one wrong turn, and records whether the answer names what would be right. */
function wrong(answer: Answer, names: string | RegExp, note: (helped: boolean) => void): () => Turns {
  return function* () {
    const seen = yield answer
    if (seen.results.length > 0 && !hasFailed(seen)) return true
    const found = shown(seen)
    note(typeof names === 'string' ? found.includes(names) : names.test(found))
    return false
  }
}

/** Returns mistakes that real models make. @param ledger where they are counted */
export function mistakes(ledger: Ledger): Readonly<Record<string, Mistake>> {
  const noteOf = (name: string) => (helped: boolean) => {
    const { made, helped: before } = ledger.get(name) ?? { made: 0, helped: 0 }
    ledger.set(name, { made: made + 1, helped: before + (helped ? 1 : 0) })
  }
  const pathOf = ({ arguments: args }: ToolUse) => (typeof args.path === 'string' ? args.path : undefined)
  return {
    wrong_path: (step, random) => {
      const path = pathOf(step)
      if (!path || path === '.' || step.tool === 'file_write') return undefined
      const folder = path.includes('/') ? path.slice(path.lastIndexOf('/') + 1) : `src/${path}`
      const other = pick([folder, path.replace(/(\.\w+)?$/, 's$1')], random)
      return wrong(call({ ...step, arguments: { ...step.arguments, path: other } }), path, noteOf('wrong_path'))
    },
    absolute_path: step => {
      const path = pathOf(step)
      if (!path) return undefined
      const answer = call({ ...step, arguments: { ...step.arguments, path: `/workspace/${path}` } })
      return wrong(answer, /relative|inside it|such as "/, noteOf('absolute_path'))
    },
    near_miss: (step, random) => {
      const { old_text } = step.arguments
      if (step.tool !== 'file_edit' || typeof old_text !== 'string') return undefined
      const other = pick(
        [
          old_text.replace(/\w{4,}/, word => `${word}s`),
          old_text.replace(/^( *)/gm, '$1  '),
          `${old_text} `,
          old_text.replaceAll("'", '"'),
        ],
        random,
      )
      const first = old_text.trim().split('\n')[0]!.trim()
      return wrong(call({ ...step, arguments: { ...step.arguments, old_text: other } }), first, noteOf('near_miss'))
    },
    foreign_name: (step, random) => {
      const names = FOREIGN_NAMES[step.tool]
      return (
        names &&
        wrong(call({ ...step, tool: pick(names, random) }), `Did you mean ${step.tool}`, noteOf('foreign_name'))
      )
    },
    foreign_arguments: step => {
      const args = Object.entries(step.arguments).map(([key, value]) => [FOREIGN_ARGUMENTS[key] ?? key, value])
      const [key] = Object.keys(step.arguments).filter(each => each in FOREIGN_ARGUMENTS)
      return key === undefined
        ? undefined
        : wrong(call({ ...step, arguments: Object.fromEntries(args) }), `"${key}"`, noteOf('foreign_arguments'))
    },
    broken_json: (step, random) => {
      const json = JSON.stringify(step.arguments)
      const other = pick(
        [
          json.slice(0, -1),
          `${json.slice(0, -1)},}`,
          `\`\`\`json\n${json}\n\`\`\``,
          json.replaceAll('\\n', '\n'),
          `{${json}`,
        ],
        random,
      )
      return wrong(toolCall(step.tool, other), /JSON/, noteOf('broken_json'))
    },
    text_instead: step => wrong(text(`Next I will use ${step.tool}.`), /next step|finish_goal/, noteOf('text_instead')),
    claims_in_text: () =>
      function* () {
        yield text('All of it is done.')
        const seen = yield text('Yes, it is finished.')
        noteOf('claims_in_text')(/not accepted|does not|evidence/.test(shown(seen)))
        return false
      },
    claims_early: () =>
      wrong(
        toolCall('finish_goal', { summary: 'Everything is done.' }),
        /does not|not accepted/,
        noteOf('claims_early'),
      ),
    sorry: () => wrong(text("I'm sorry, but I can't help with that."), /reached false|finish_goal/, noteOf('sorry')),
    shell_line: (step, random) => {
      const { command } = step.arguments
      if (step.tool !== 'shell_exec') return undefined
      const line = pick(
        [
          `cd . && ${command}`,
          `${command} 2>&1 | tail -n 20`,
          `${command}; echo $?`,
          `bash -c "${command}"`,
          `${command} || true`,
        ],
        random,
      )
      return wrong(
        call({ ...step, arguments: { ...step.arguments, command: line } }),
        /cwd|a single program|by itself|input/,
        noteOf('shell_line'),
      )
    },
    floods: (_, random) =>
      function* () {
        const seen = yield pick(
          [
            toolCall('grep', { pattern: '.', limit: 1000 }),
            toolCall('list_dir', { path: '.', max_depth: 10, limit: 1000 }),
            toolCall('glob', { pattern: '**/*', limit: 1000 }),
          ],
          random,
        )
        noteOf('floods')(!hasFailed(seen))
        return false
      },
    rambles: () =>
      wrong(text('Let me think about this. '.repeat(800), { finish_reason: 'length' }), /cut off/, noteOf('rambles')),
    repeats: step =>
      step.tool === 'file_read' || step.tool === 'list_dir'
        ? function* () {
            yield call(step)
            noteOf('repeats')(true)
            return false
          }
        : undefined,
    two_at_once: step => {
      if (step.tool === 'ask_operator' || step.tool === 'finish_goal') return undefined
      return function* () {
        const seen = yield together(toolCall('list_dir', { path: '.' }), call(step))
        noteOf('two_at_once')(!hasFailed(seen))
        return !seen.results.some(({ name, failed }) => name === step.tool && failed)
      }
    },
    empty: () =>
      function* () {
        // An empty answer leaves no trace, so the model sees the same messages again.
        noteOf('empty')(/finish_goal/.test(shown(yield text(''))))
        return false
      },
  }
}
