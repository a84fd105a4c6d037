import { AgentName, AgentNotFoundError, AgentRef, Agents, AmbiguousAgentError } from '#core/agents/contract'
import { defineError, operation, type PluginHandle, z } from '#kernel'
import { idAndName } from '#lib/id-and-name'
import { idSchema } from '#lib/id-schema'
import { Page } from '#lib/list'
import { isoTime, Store } from '#platform/store/contract'
import { countTodos, findAnyTodo, type ListedTodo, markTodo, PRIORITIES, pageOfTodos, STATUSES } from './repository.ts'

const UnknownTodoError = defineError({
  code: 'no_such_todo',
  status: 404,
  title: 'To-do not found',
  message: (p: { todo_id: string }) =>
    `There is no to-do item "${p.todo_id}"; list all items with: svc todos --status all`,
})

const Todo = z
  .object({
    todo_id: z.string().meta({ examples: ['task-1a2b3c4d'] }),
    agent_id: z.string(),
    agent_name: AgentName,
    description: z.string(),
    priority: z.enum(PRIORITIES),
    status: z.enum(STATUSES),
    due: z.string().nullable().describe('Due date as the agent wrote it: free text or a date'),
    created_at: z.iso.datetime(),
    completed_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Todo' })
type Todo = z.infer<typeof Todo>

const Which = z
  .enum([...STATUSES, 'all'])
  .default('pending')
  .describe('Status of the items to list')

const which = async (
  svc: PluginHandle,
  { agent, status }: { agent?: string | undefined; status: z.output<typeof Which> },
) => ({
  agent_id: agent === undefined ? null : (await svc.use(Agents).find(agent)).agent_id,
  status: status === 'all' ? null : status,
})

export const todosList = operation({
  name: 'todos.list',
  summary: 'List to-do items, high priority first',
  description: 'Returns the to-do items of all agents, or of one agent.',
  input: Page.extend({ agent: AgentRef.optional(), status: Which }),
  output: z.array(Todo),
  http: { method: 'GET', path: '/todos' },
  cli: { usage: 'todos [agent]', short: { limit: 'n', status: 's' } },
  mcp: true,
  errors: [AgentNotFoundError, AmbiguousAgentError],
  async run({ limit, offset, ...filter }, { svc }) {
    const rows = await pageOfTodos(svc.use(Store), await which(svc, filter), limit ?? -1, offset)
    return rows.map(todoView)
  },
  count: async (input, { svc }) => countTodos(svc.use(Store), await which(svc, input)),
  render: todos => todos.map(line).join('\n') || 'no to-do items',
})

export const todosMark = operation({
  name: 'todos.mark',
  summary: 'Mark a to-do item as done or open',
  description: 'The agent sees the change in its next cycle.',
  input: z.strictObject({
    todo_id: idSchema('Id of the to-do item, as svc todos shows it', 'task-1a2b3c4d'),
    status: z.enum(STATUSES),
  }),
  output: Todo,
  http: { method: 'PATCH', path: '/todos/{todo_id}' },
  cli: [
    { usage: 'todos done <todo_id>', summary: 'Mark a to-do item as done', preset: { status: 'done' } },
    { usage: 'todos reopen <todo_id>', summary: 'Reopen a to-do item', preset: { status: 'pending' } },
  ],
  mcp: true,
  errors: [UnknownTodoError],
  async run({ todo_id, status }, { svc }) {
    const row = await findAnyTodo(svc.use(Store), todo_id)
    if (!row) throw new UnknownTodoError({ todo_id })
    await svc.use(Store).apply([markTodo({ task_id: todo_id, agent_id: row.agent_id, status })])
    return todoView((await findAnyTodo(svc.use(Store), todo_id)) ?? row)
  },
  render: line,
})

/** Operations with which the operator reads and marks agents' tasks. */
export const todoOperations = [todosList, todosMark]

function todoView({ task_id, due_date, created_at, completed_at, ...row }: ListedTodo): Todo {
  return {
    todo_id: task_id,
    ...row,
    due: due_date,
    created_at: isoTime(created_at),
    completed_at: isoTime(completed_at),
  }
}

function line({ todo_id, agent_id, agent_name: name, description, priority, status, due }: Todo): string {
  const when = due ? `  until ${due.replaceAll(/\s+/g, ' ')}` : ''
  const head = `${status === 'done' ? '✓' : '·'} ${todo_id}  ${idAndName({ agent_id, name })}  ${priority}${when}`
  return `${head}\n    ${description.replaceAll(/\s+/g, ' ')}`
}
