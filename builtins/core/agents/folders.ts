import type { Profile } from '#core/profiles/contract'
import type { Effect, PluginHandle } from '#kernel'
import { FolderError, type FolderInput, type GivenFolder, Jail } from '#safety/sandbox/contract'
import { type WorktreePer, Worktrees } from './contract.ts'

/** Folders that the operator gives to an agent, not validated yet. */
export interface FolderSelection {
  /** null is the agent's own folder. */
  workspace?: FolderInput | null | undefined
  folders?: readonly FolderInput[] | undefined
  /** Scope of the git worktree in which the agent works; undefined for none. */
  worktree?: WorktreePer | undefined
}

/** The validated folders of an agent. */
export interface Folders {
  /** The one of `folders` in which the agent works; an empty string for the agent's own folder. */
  workspace: string
  folders: GivenFolder[]
}

/** Value that earlier versions wrote into profiles and ignored. */
const DEFAULT_WORKSPACE = /^(\.\/)?workspaces\//

/**
 * Returns the folders of a new agent: the requested ones, otherwise those of its profile.
 * @throws FolderError
 */
export async function foldersFor(svc: PluginHandle, wanted: FolderSelection, profile: Profile): Promise<Folders> {
  const { workspace } = profile
  const own = workspace === '' || (typeof workspace === 'string' && DEFAULT_WORKSPACE.test(workspace))
  const place = wanted.workspace === undefined ? (own ? null : workspace) : wanted.workspace
  const base = wanted.workspace === undefined ? svc.project.root : undefined
  const further = wanted.folders ?? profile.folders
  return checkFolder(svc, place, further, { place: base, further: wanted.folders ? undefined : svc.project.root })
}

/** Returns the folders of a new agent that works in a git worktree, and what to commit with it. @throws FolderError */
export async function worktreeFor(
  svc: PluginHandle,
  agent_id: string,
  { workspace, folders }: Folders,
  per: WorktreePer,
): Promise<Folders & { effects: Effect[] }> {
  if (workspace === '')
    throw new FolderError({
      path: 'workspace',
      problem: 'is not given; name the repository for which to create the worktree',
    })
  if (!svc.has(Worktrees))
    throw new FolderError({
      path: workspace,
      problem: 'cannot be used for a worktree: the module `worktrees` is disabled',
    })
  const tree = await svc.use(Worktrees).create(agent_id, workspace, per)
  const further = folders.filter(({ path }) => path !== workspace)
  return { workspace: tree.folders[0]!.path, folders: [...tree.folders, ...further], effects: tree.effects }
}

/** Returns the folders of an agent after a change; omitted ones stay. @throws FolderError */
export async function updateFolders(svc: PluginHandle, wanted: FolderSelection, was: Folders): Promise<Folders> {
  const tree = was.folders.filter(({ purpose }) => purpose !== undefined)
  if (tree.length > 0) {
    if (wanted.workspace !== undefined)
      throw new FolderError({
        path: was.workspace,
        problem: 'is a git worktree and cannot be changed; spawn another agent instead',
      })
    const { folders } = await checkFolder(svc, null, wanted.folders ?? was.folders.slice(tree.length), {})
    return { workspace: was.workspace, folders: [...tree, ...folders] }
  }
  const stays = was.folders.find(({ path }) => path === was.workspace) ?? null
  const place = wanted.workspace === undefined ? stays : wanted.workspace
  const further = wanted.folders ?? was.folders.filter(({ path }) => path !== was.workspace)
  return checkFolder(svc, place, further, {})
}

async function checkFolder(
  svc: PluginHandle,
  place: FolderInput | null,
  further: readonly FolderInput[],
  bases: { place?: string | undefined; further?: string | undefined },
): Promise<Folders> {
  if (place === null && further.length === 0) return { workspace: '', folders: [] }
  const jail = svc.use(Jail)
  const first = place === null ? undefined : await jail.admit(place, 'read-write', bases.place)
  const others = await Promise.all(further.map(folder => jail.admit(folder, 'read-only', bases.further)))
  const all = [...(first ? [first] : []), ...others]
  // When a folder is named twice, the first entry counts.
  const folders = all.filter(({ path }, n) => all.findIndex(other => other.path === path) === n)
  return { workspace: first?.path ?? '', folders }
}
