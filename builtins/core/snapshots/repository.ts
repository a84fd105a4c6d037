import { z } from '#kernel'
import {
  countRows,
  defineEffect,
  insertInto,
  isoTime,
  listColumn,
  type Store,
  type Stored,
} from '#platform/store/contract'
import type { FolderChange } from './contract.ts'

/** A goal or task in which an agent works. */
export interface Work {
  agent_id: string
  goal_id: string | null
  task_id: string | null
}

export interface ChangeRow extends Stored<Omit<FolderChange, 'subject'>, 'began_at' | 'ended_at' | 'undone_at'> {
  subject: string | null
  /** Snapshots as git trees; null where there is none. */
  before_tree: string | null
  after_tree: string | null
}

const Began = z.object({
  change_id: z.string(),
  agent_id: z.string(),
  goal_id: z.string().nullable(),
  task_id: z.string().nullable(),
  folder: z.string(),
  before_tree: z.string().nullable(),
  problem: z.string().nullable(),
})

/** Records the snapshot before the first call of a goal or task that could change files. */
export const beginChange = defineEffect({
  name: 'snapshots.begin',
  schema: Began,
  statements: (row, now) => insertInto('folder_changes', { ...row, began_at: now }),
})

/** Records the snapshot at the end of a goal or task. */
export const endChange = defineEffect({
  name: 'snapshots.end',
  schema: z.object({ change_id: z.string(), after_tree: z.string().nullable(), files: z.int().nullable() }),
  statements: ({ change_id, after_tree, files }, now) => ({
    sql: 'UPDATE folder_changes SET after_tree = ?, files = ?, ended_at = ? WHERE change_id = ? AND ended_at IS NULL',
    params: [after_tree, files, now, change_id],
  }),
})

/** Records that a change was undone, or made again. */
export const markUndone = defineEffect({
  name: 'snapshots.undone',
  schema: z.object({ change_id: z.string(), undone: z.boolean() }),
  statements: ({ change_id, undone }, now) => ({
    sql: 'UPDATE folder_changes SET undone_at = ? WHERE change_id = ?',
    params: [undone ? now : null, change_id],
  }),
})

/** Removes changes, such as old ones and those that changed nothing. */
export const forgetChanges = defineEffect({
  name: 'snapshots.forget',
  schema: z.object({ change_ids: z.array(z.string()) }),
  statements: ({ change_ids }) =>
    change_ids.map(change_id => ({ sql: 'DELETE FROM folder_changes WHERE change_id = ?', params: [change_id] })),
})

const SELECT = `SELECT c.change_id, c.agent_id, c.goal_id, c.task_id, coalesce(g.objective, t.instruction) AS subject, c.folder,
  c.before_tree, c.after_tree, c.files, c.problem, c.began_at, c.ended_at, c.undone_at FROM folder_changes c
  LEFT JOIN goals_view g ON g.goal_id = c.goal_id LEFT JOIN task_runs_view t ON t.task_id = c.task_id`

/** Returns an agent's changes, newest first. */
export function changesOf(store: Store, agent_id: string): Promise<ChangeRow[]> {
  return store.all<ChangeRow>(`${SELECT} WHERE c.agent_id = ? ORDER BY c.began_at DESC, c.change_id DESC`, [agent_id])
}

/** Returns the changes of a goal or task that have not ended. */
export function openChanges(store: Store, { agent_id, goal_id, task_id }: Work): Promise<ChangeRow[]> {
  return store.all<ChangeRow>(
    `${SELECT} WHERE c.agent_id = ? AND c.ended_at IS NULL AND coalesce(c.goal_id, c.task_id) = ?`,
    [agent_id, goal_id ?? task_id],
  )
}

/** Returns the ids of the goals and tasks that have changes which have not ended. */
export function openWork(store: Store): Promise<string[]> {
  return listColumn(store, 'SELECT coalesce(goal_id, task_id) AS id FROM folder_changes WHERE ended_at IS NULL')
}

/** Returns the oldest changes that began before a time. */
export function oldChanges(store: Store, before: number, limit: number): Promise<{ change_id: string }[]> {
  return store.all('SELECT change_id FROM folder_changes WHERE began_at < ? ORDER BY began_at LIMIT ?', [before, limit])
}

/** Returns the number of changes that began before a time. */
export function countOldChanges(store: Store, before: number): Promise<number> {
  return countRows(store, 'FROM folder_changes WHERE began_at < ?', [before])
}

/** Returns all recorded snapshots, by folder. */
export async function treesByFolder(store: Store): Promise<Map<string, string[]>> {
  const rows = await store.all<Pick<ChangeRow, 'folder' | 'before_tree' | 'after_tree'>>(
    'SELECT folder, before_tree, after_tree FROM folder_changes ORDER BY folder',
  )
  const trees = new Map<string, string[]>()
  for (const { folder, before_tree, after_tree } of rows) {
    const kept = [before_tree, after_tree].filter(tree => tree !== null)
    trees.set(folder, [...(trees.get(folder) ?? []), ...kept])
  }
  return trees
}

/** Returns a change as shown. */
export function shownChange(row: ChangeRow): FolderChange {
  const { before_tree: _, after_tree: __, subject, began_at, ended_at, undone_at, ...rest } = row
  return {
    ...rest,
    subject: subject ?? '',
    began_at: isoTime(began_at),
    ended_at: isoTime(ended_at),
    undone_at: isoTime(undone_at),
  }
}
