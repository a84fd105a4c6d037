import { type PluginHandle, z } from '#kernel'
import { pluralize } from '#lib/pluralize'
import { type Toolkit, tool } from '#tools/toolkits/contract'
import type { Program } from './programs.ts'
import type { CodeTask } from './records.ts'
import type { CodeTasks } from './tasks.ts'

/** Number of characters of an output shown at once: about 2,000 tokens. */
const PART = 8_000
const MOST_LISTED = 50

const task_id = z.string().min(1).max(100).describe('Id of the code task, as run_code_task returned it')

/** Tools that delegate work to a coding program on this machine. */
export function orchestratorToolkit(svc: PluginHandle, tasks: CodeTasks, programs: Map<Program, string>): Toolkit {
  const names = [...programs.keys()] as [Program, ...Program[]]
  return {
    name: 'orchestrator',
    tools: [
      tool({
        name: 'run_code_task',
        description:
          'Let a coding program work in a folder of your workspace. It continues in the background; if it does not end soon, call check_task_status later.',
        parameters: z.object({
          task: z
            .string()
            .trim()
            .min(1)
            .max(20_000)
            .describe('The complete task: the coding program knows nothing else'),
          workspace: z.string().min(1).default('.').describe('Folder to work in, relative to your workspace'),
          cli_tool: z.enum(names).default(names[0]),
          model: z
            .string()
            .regex(/^\w[\w.:/@-]{0,99}$/)
            .optional()
            .describe('Model to use (default: the one set for the program)'),
        }),
        danger: 'runs a coding program with your login',
        requires_approval: true,
        async execute({ task, workspace, cli_tool, model }, call) {
          const path = programs.get(cli_tool)!
          const record = await tasks.begin({ program: cli_tool, path, model, task, folder: workspace }, call)
          if (record.status === 'running')
            return `${lineOf(svc, record)}\nThe task continues; call check_task_status later.`
          return renderTask(svc, record, await tasks.output(call.agent_id, record.task_id), 0)
        },
      }),
      tool({
        name: 'check_task_status',
        description:
          'Show the status of a code task: running, completed, failed, timeout, or lost when the service was restarted.',
        parameters: z.object({ task_id }),
        read_only: true,
        execute: async ({ task_id }, { agent_id }) => lineOf(svc, await tasks.get(agent_id, task_id)),
      }),
      tool({
        name: 'list_code_tasks',
        description: 'List your code tasks with their status, newest first.',
        parameters: z.object({}),
        read_only: true,
        async execute(_, { agent_id }) {
          const all = await tasks.list(agent_id)
          const lines = all.slice(0, MOST_LISTED).map(record => lineOf(svc, record))
          const more =
            all.length > MOST_LISTED ? [`[Not shown: ${pluralize(all.length - MOST_LISTED, 'older task')}.]`] : []
          return [...lines, ...more].join('\n') || '[There are no code tasks.]'
        },
      }),
      tool({
        name: 'review_task_output',
        description: 'Read the output of an ended code task.',
        parameters: z.object({
          task_id,
          offset: z.coerce.number().int().min(0).default(0).describe('Number of characters to skip'),
        }),
        read_only: true,
        async execute({ task_id, offset }, { agent_id }) {
          const record = await tasks.get(agent_id, task_id)
          return renderTask(svc, record, await tasks.output(agent_id, task_id), offset)
        },
      }),
    ],
  }
}

function lineOf({ clock }: PluginHandle, record: CodeTask): string {
  const { task_id, program, status, reason, started_at, ended_at, folder, task } = record
  const seconds = Math.round(((ended_at ?? clock.ms()) - started_at) / 1000)
  const words = task.replace(/\s+/g, ' ')
  const about = words.length > 80 ? `${words.slice(0, 80)}…` : words
  return `${task_id}: ${status}${reason ? ` (${reason})` : ''} · ${program} in ${folder} · ${seconds} s · ${about}`
}

function renderTask(svc: PluginHandle, record: CodeTask, output: string, offset: number): string {
  const part = output.slice(offset, offset + PART)
  const rest = output.length - offset - part.length
  const notes = [
    ...(record.status === 'running' ? ['[The output is available after the task has ended.]'] : []),
    ...(rest > 0 ? [`[${pluralize(rest, 'more character')}; read on with offset=${offset + PART}.]`] : []),
  ]
  return [lineOf(svc, record), ...(part ? [part] : []), ...notes].join('\n')
}
