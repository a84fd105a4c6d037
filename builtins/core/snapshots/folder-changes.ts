import { Agents } from '#core/agents/contract'
import { errorMessage, type PluginHandle, token } from '#kernel'
import { appendEvent, Store } from '#platform/store/contract'
import { Sandbox } from '#safety/sandbox/contract'
import type { ToolCall } from '#tools/toolkits/contract'
import {
  ChangeNotFoundError,
  type ChangesUndone,
  type FolderChange,
  type FolderChangeDetail,
  NotUndoableError,
  UndoConflictError,
} from './contract.ts'
import {
  beginChange,
  type ChangeRow,
  changesOf,
  endChange,
  forgetChanges,
  markUndone,
  openChanges,
  openWork,
  shownChange,
  treesByFolder,
  type Work,
} from './repository.ts'
import { Snapshots } from './snapshots.ts'

/** Records what goals and tasks change in the folders that the operator gave, and undoes it. */
export class FolderChanges {
  readonly #svc: PluginHandle
  readonly #snapshots: Snapshots
  /** Ids of the goals and tasks with changes that have not ended, so that the end of others costs no query. */
  #working: Promise<Set<string>> | undefined

  constructor(svc: PluginHandle) {
    this.#svc = svc
    this.#snapshots = new Snapshots(svc)
  }

  /** Takes a snapshot of each given folder before the first call of a goal or task that could change it. */
  async begin(call: ToolCall): Promise<void> {
    const folders = writableFolders(call)
    const { agent_id, goal_id, task_id = null, signal } = call
    if (folders.length === 0 || (goal_id ?? task_id) === null) return
    const open = await openChanges(this.#store, { agent_id, goal_id, task_id })
    const unrecorded = folders.filter(folder => !open.some(change => change.folder === folder))
    if (unrecorded.length === 0 || !(await this.#svc.use(Sandbox).find('git'))) return
    for (const folder of unrecorded) {
      const taken = await this.#take(folder, signal)
      const change_id = this.#svc.ports.ids.make('change', 12)
      await this.#store.apply([beginChange({ change_id, agent_id, goal_id, task_id, folder, ...taken })])
      ;(await this.#workingIds()).add(idOf(call))
    }
  }

  /** Takes the snapshots at the end of a goal or task. */
  async end(work: Work): Promise<void> {
    if (!(await this.#workingIds()).delete(idOf(work))) return
    for (const change of await openChanges(this.#store, work)) await this.#end(change)
  }

  async list(ref: string): Promise<FolderChange[]> {
    const { agent_id } = await this.#svc.use(Agents).find(ref)
    return (await changesOf(this.#store, agent_id)).map(shownChange)
  }

  /** @throws AgentNotFoundError, AmbiguousAgentError, ChangeNotFoundError, SnapshotFailedError */
  async show(ref: string, which: string | undefined): Promise<FolderChangeDetail> {
    const change = await this.#find(ref, which)
    const { folder, before_tree, after_tree, ended_at } = change
    const to = ended_at === null && before_tree !== null ? await this.#snapshots.take(folder) : after_tree
    const difference =
      before_tree === null || to === null
        ? { changed: [], patch: '', truncated: false }
        : await this.#snapshots.difference(folder, before_tree, to)
    return { ...shownChange(change), ...difference }
  }

  /**
   * Gives the changed lines the text that they had before the goal or task. A change that goes on ends with that; what
   * the agent writes later is another one.
   * @throws ChangeNotFoundError, NotUndoableError, UndoConflictError, SnapshotFailedError
   */
  async undo(ref: string, which: string | undefined): Promise<ChangesUndone> {
    const found = await this.#find(ref, which, rows => rows.find(({ undone_at }) => undone_at === null))
    if (found.undone_at !== null) throw notUndoable(found, 'was undone already; to make it again: svc changes redo')
    if (found.ended_at === null) await this.#end(found)
    const change = found.ended_at === null ? await this.#find(found.agent_id, found.change_id) : found
    return this.#apply(change, true)
  }

  /** Makes changes again that were undone. @throws ChangeNotFoundError, NotUndoableError, UndoConflictError, SnapshotFailedError */
  async redo(ref: string, which: string | undefined): Promise<ChangesUndone> {
    const change = await this.#find(ref, which, lastUndone)
    if (change.undone_at === null) throw notUndoable(change, 'was not undone')
    return this.#apply(change, false)
  }

  async forget(change_ids: string[]): Promise<void> {
    const before = await treesByFolder(this.#store)
    await this.#store.apply([forgetChanges({ change_ids })])
    const after = await treesByFolder(this.#store)
    for (const folder of before.keys()) {
      // Another machine of a cluster may have the snapshots.
      await this.#snapshots.prune(folder, after.get(folder) ?? []).catch(error => this.#warn(folder, error))
    }
  }

  #workingIds(): Promise<Set<string>> {
    this.#working ??= openWork(this.#store).then(ids => new Set(ids))
    return this.#working
  }

  get #store(): Store {
    return this.#svc.use(Store)
  }

  /**
   * Finds a change by its own id, or that of its goal or task.
   * @param usual chooses one of the changes, newest first, if none is named; by default, and without a choice, the newest
   */
  async #find(ref: string, which: string | undefined, usual: (rows: ChangeRow[]) => ChangeRow | undefined = newest) {
    const { agent_id } = await this.#svc.use(Agents).find(ref)
    const rows = await changesOf(this.#store, agent_id)
    const isNamed = ({ change_id, goal_id, task_id }: ChangeRow) => [change_id, goal_id, task_id].includes(which ?? '')
    const found = which === undefined ? (usual(rows) ?? newest(rows)) : rows.find(isNamed)
    if (!found) throw new ChangeNotFoundError({ agent_id, change: which })
    return found
  }

  /** A folder of which there can be no snapshot does not keep the agent from its work. */
  async #take(folder: string, signal: AbortSignal): Promise<{ before_tree: string | null; problem: string | null }> {
    try {
      return { before_tree: await this.#snapshots.take(folder, signal), problem: null }
    } catch (error) {
      signal.throwIfAborted()
      this.#warn(folder, error)
      return { before_tree: null, problem: errorMessage(error) }
    }
  }

  async #end({ change_id, agent_id, goal_id, task_id, folder, before_tree }: ChangeRow): Promise<void> {
    const after_tree = before_tree === null ? null : await this.#snapshots.take(folder)
    if (before_tree !== null && before_tree === after_tree) {
      await this.#store.apply([forgetChanges({ change_ids: [change_id] })])
      return
    }
    const files =
      before_tree === null || after_tree === null
        ? null
        : (await this.#snapshots.changedFiles(folder, before_tree, after_tree)).length
    const data = { agent_id, change_id, goal_id, task_id, folder, files }
    await this.#store.apply([
      endChange({ change_id, after_tree, files }),
      appendEvent({ type: 'changes_recorded', agent_id, data }),
    ])
  }

  async #apply({ change_id, agent_id, folder, before_tree, after_tree, problem }: ChangeRow, isUndo: boolean) {
    if (before_tree === null || after_tree === null)
      throw notUndoable({ change_id }, `has no snapshot${problem ? ` (${problem})` : ''}`)
    const [from, to] = isUndo ? [after_tree, before_tree] : [before_tree, after_tree]
    const files = await this.#snapshots.apply(folder, from, to)
    if (files.length > 0) throw new UndoConflictError({ agent_id, change_id, folder, files })
    const changed = await this.#snapshots.changedFiles(folder, from, to)
    const undone = { agent_id, change_id, folder, files: changed.map(({ path }) => path), redone: !isUndo }
    await this.#store.apply([
      markUndone({ change_id, undone: isUndo }),
      appendEvent({ type: 'changes_undone', agent_id, data: undone }),
    ])
    return undone
  }

  #warn(folder: string, error: unknown): void {
    this.#svc.log.warn({ folder }, errorMessage(error))
  }
}

export const OwnFolderChanges = token<FolderChanges>('snapshots/changes')

const notUndoable = ({ change_id }: Pick<ChangeRow, 'change_id'>, problem: string) =>
  new NotUndoableError({ change_id, problem })

const newest = ([row]: ChangeRow[]): ChangeRow | undefined => row

const lastUndone = (rows: ChangeRow[]) =>
  newest(rows.filter(row => row.undone_at !== null).sort((one, other) => other.undone_at! - one.undone_at!))

/** Returns the id of a goal or task. */
const idOf = ({ goal_id, task_id }: Pick<ToolCall, 'goal_id'> & { task_id?: string | null | undefined }) =>
  goal_id ?? task_id ?? ''

/** Returns the folders of the operator that a call may change, without those inside another one. */
function writableFolders({ folders = [] }: ToolCall): string[] {
  const given = folders.filter(({ access, purpose }) => access === 'read-write' && purpose === undefined)
  const paths = given.map(({ path }) => path)
  return paths.filter(path => !paths.some(other => other !== path && path.startsWith(`${other}/`)))
}
