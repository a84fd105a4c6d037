import { defineError, type PluginHandle, z } from '#kernel'
import { Store } from '#platform/store/contract'
import { type ToolCall, type Toolkit, tool } from '#tools/toolkits/contract'
import {
  changeTodo,
  deleteTodo,
  findTodo,
  insertTodo,
  listTodos,
  markTodo,
  numberOfTodos,
  PRIORITIES,
  STATUSES,
  type TodoRow,
} from './repository.ts'

/** Maximum number of tasks of one agent, including completed ones. */
const MAX_TASKS = 1_000
/** Number of tasks shown at a time. */
const SHOWN = 100

const TodoNotFoundError = defineError({
  code: 'todo_not_found',
  status: 404,
  title: 'Task not found',
  message: (p: { task_id: string }) => `You have no task "${p.task_id}"; list yours with list_tasks.`,
})

const task_id = z.string().min(1).max(128).describe('Id of the task, as list_tasks shows it')
const description = z.string().trim().min(1).max(1_000).describe('Description of the task, in one sentence')
const priority = z.enum(PRIORITIES)
const due = z.string().trim().max(100).describe('Due date, as free text or a date')

/** Tools for an agent's own task list. */
export function taskToolkit(svc: PluginHandle): Toolkit {
  const own = async (id: string, { agent_id }: ToolCall): Promise<TodoRow> => {
    const row = await findTodo(svc.use(Store), id, agent_id)
    if (!row) throw new TodoNotFoundError({ task_id: id })
    return row
  }
  const mark = async (id: string, status: TodoRow['status'], call: ToolCall) => {
    const { agent_id } = await own(id, call)
    call.effect(markTodo({ task_id: id, agent_id, status }))
    return `${id} is ${status === 'done' ? 'done' : 'pending again'}.`
  }
  return {
    name: 'task',
    tools: [
      tool({
        name: 'create_task',
        description: 'Add a task to your to-do list, so that you do not forget it from one goal to the next.',
        parameters: z.object({ description, priority: priority.default('medium'), due: due.optional() }),
        async execute({ description, priority, due }, call) {
          const { agent_id } = call
          if ((await numberOfTodos(svc.use(Store), agent_id)) >= MAX_TASKS)
            throw new Error(`your list has ${MAX_TASKS} tasks; delete some that are done first`)
          const id = svc.ports.ids.make('task', 8)
          call.effect(insertTodo({ task_id: id, agent_id, description, priority, due_date: due || null }))
          return `Added to your list as ${id}.`
        },
      }),
      tool({
        name: 'list_tasks',
        description: 'List your tasks, high priority first. By default, only pending tasks are listed.',
        parameters: z.object({
          status: z.enum([...STATUSES, 'all']).default('pending'),
          priority: priority.optional(),
        }),
        read_only: true,
        async execute({ status, priority }, { agent_id }) {
          const which = { status: status === 'all' ? null : status, priority: priority ?? null }
          const rows = await listTodos(svc.use(Store), agent_id, { ...which, limit: SHOWN + 1 })
          const more = rows.length > SHOWN ? [`[There are more than ${SHOWN}; ask for one priority or status.]`] : []
          return [...rows.slice(0, SHOWN).map(line), ...more].join('\n') || '[There are no such tasks.]'
        },
      }),
      tool({
        name: 'complete_task',
        description: 'Mark one of your tasks as done.',
        parameters: z.object({ task_id }),
        idempotent: true,
        execute: ({ task_id }, call) => mark(task_id, 'done', call),
      }),
      tool({
        name: 'uncomplete_task',
        description: 'Mark one of your tasks as pending again.',
        parameters: z.object({ task_id }),
        idempotent: true,
        execute: ({ task_id }, call) => mark(task_id, 'pending', call),
      }),
      tool({
        name: 'delete_task',
        description: 'Delete one of your tasks permanently.',
        parameters: z.object({ task_id }),
        idempotent: true,
        async execute({ task_id }, call) {
          const { agent_id } = await own(task_id, call)
          call.effect(deleteTodo({ task_id, agent_id }))
          return `${task_id} is removed.`
        },
      }),
      tool({
        name: 'update_task',
        description: 'Change the description, priority or due date of one of your tasks. Give only what changes.',
        parameters: z.object({
          task_id,
          description: description.optional(),
          priority: priority.optional(),
          due: due.optional(),
        }),
        idempotent: true,
        async execute({ task_id, description, priority, due }, call) {
          const row = await own(task_id, call)
          if (description === undefined && priority === undefined && due === undefined)
            throw new Error('give at least one of description, priority and due')
          call.effect(
            changeTodo({
              task_id,
              agent_id: row.agent_id,
              description: description ?? row.description,
              priority: priority ?? row.priority,
              due_date: due === undefined ? row.due_date : due || null,
            }),
          )
          return `${task_id} is changed.`
        },
      }),
    ],
  }
}

function line({ task_id, description, priority, status, due_date }: TodoRow): string {
  return `${task_id}  [${priority}${status === 'done' ? ', done' : ''}]${due_date ? ` (due ${due_date})` : ''}  ${description}`
}
