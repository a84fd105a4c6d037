import { agentNameOf } from '#core/agents/statements'
import { z } from '#kernel'
import { countRows, defineEffect, insertInto, type Store } from '#platform/store/contract'

export const PRIORITIES = ['high', 'medium', 'low'] as const
export const STATUSES = ['pending', 'done'] as const

const Todo = z.object({
  task_id: z.string(),
  agent_id: z.string(),
  description: z.string(),
  priority: z.enum(PRIORITIES),
  due_date: z.string().nullable(),
})

export type TodoRow = z.infer<typeof Todo> & { status: (typeof STATUSES)[number] }

const ROW = 'SELECT task_id, agent_id, description, priority, status, due_date FROM tasks'

/** Returns a task of this agent; tasks of other agents are not found. */
export function findTodo(store: Store, task_id: string, agent_id: string): Promise<TodoRow | undefined> {
  return store.get<TodoRow>(`${ROW} WHERE task_id = ? AND agent_id = ?`, [task_id, agent_id])
}

/** Returns tasks with high priority first, then in order of creation. */
export function listTodos(
  store: Store,
  agent_id: string,
  { status, priority, limit }: { status: string | null; priority: string | null; limit: number },
): Promise<TodoRow[]> {
  return store.all<TodoRow>(
    `${ROW} WHERE agent_id = ? AND status = coalesce(?, status) AND priority = coalesce(?, priority)
     ORDER BY CASE priority WHEN 'high' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END, created_at, task_id LIMIT ?`,
    [agent_id, status, priority, limit],
  )
}

/** Columns for operators. */
export interface ListedTodo extends TodoRow {
  created_at: number
  completed_at: number | null
  /** Current name of the agent; null for a deleted one. */
  agent_name: string | null
}
const LISTED = ROW.replace(' FROM', `, created_at, completed_at, ${agentNameOf('tasks.agent_id')} AS agent_name FROM`)
const WHICH = 'agent_id = coalesce(?, agent_id) AND status = coalesce(?, status)'

/** Returns a task of any agent. */
export function findAnyTodo(store: Store, task_id: string): Promise<ListedTodo | undefined> {
  return store.get<ListedTodo>(`${LISTED} WHERE task_id = ?`, [task_id])
}

/**
 * Returns tasks of all agents or of one, in the same order.
 * @param limit -1 for all
 */
export function pageOfTodos(
  store: Store,
  { agent_id, status }: { agent_id: string | null; status: string | null },
  limit: number,
  offset: number,
): Promise<ListedTodo[]> {
  return store.all<ListedTodo>(
    `${LISTED} WHERE ${WHICH}
     ORDER BY CASE priority WHEN 'high' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END, created_at, task_id LIMIT ? OFFSET ?`,
    [agent_id, status, limit, offset],
  )
}

export function countTodos(
  store: Store,
  { agent_id, status }: { agent_id: string | null; status: string | null },
): Promise<number> {
  return countRows(store, `FROM tasks WHERE ${WHICH}`, [agent_id, status])
}

export function numberOfTodos(store: Store, agent_id: string): Promise<number> {
  return countRows(store, 'FROM tasks WHERE agent_id = ?', [agent_id])
}

export const insertTodo = defineEffect({
  name: 'todos.insert',
  schema: Todo,
  statements: ({ task_id, agent_id, description, priority, due_date }, now) =>
    insertInto('tasks', { task_id, agent_id, description, priority, due_date, created_at: now }),
})

/** Changes a task. Does nothing when the task was deleted meanwhile. */
export const changeTodo = defineEffect({
  name: 'todos.change',
  schema: Todo,
  statements: ({ task_id, agent_id, description, priority, due_date }) => ({
    sql: 'UPDATE tasks SET description = ?, priority = ?, due_date = ? WHERE task_id = ? AND agent_id = ?',
    params: [description, priority, due_date, task_id, agent_id],
  }),
})

export const markTodo = defineEffect({
  name: 'todos.mark',
  schema: z.object({ task_id: z.string(), agent_id: z.string(), status: z.enum(STATUSES) }),
  statements: ({ task_id, agent_id, status }, now) => ({
    sql: 'UPDATE tasks SET status = ?, completed_at = ? WHERE task_id = ? AND agent_id = ?',
    params: [status, status === 'done' ? now : null, task_id, agent_id],
  }),
})

export const deleteTodo = defineEffect({
  name: 'todos.delete',
  schema: z.object({ task_id: z.string(), agent_id: z.string() }),
  statements: ({ task_id, agent_id }) => ({
    sql: 'DELETE FROM tasks WHERE task_id = ? AND agent_id = ?',
    params: [task_id, agent_id],
  }),
})

export const TODO_EFFECTS = [insertTodo, changeTodo, markTodo, deleteTodo]
