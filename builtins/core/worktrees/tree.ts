import { basename, dirname, join } from 'node:path'
import { type AgentRow, agentReach, type Worktrees } from '#core/agents/contract'
import type { PluginHandle, Ports } from '#kernel'
import { Store } from '#platform/store/contract'
import { FolderError, type GivenFolder } from '#safety/sandbox/contract'
import { type GitPlace, git, repositoryAt, tryGit } from './git.ts'
import { type Branch, branchesOf, enterBranch, forgetBranch } from './repository.ts'

/** Folder of the worktree in the agent's own folder. */
const FOLDER = 'worktree'
/** Files copied from the operator's repository to a worktree: the limits of a shallow history, and exclude rules. */
const COPIED = ['shallow', 'info/exclude']
/** Folders with installed packages: git ignores them, so a worktree has none, and no sandbox can install them. */
const PACKAGES = ['node_modules', '.venv', 'venv', 'vendor']

/**
 * Creates worktrees: separate repositories that borrow the objects of the operator's repository but cannot write to it.
 */
export function worktreesFor(svc: PluginHandle): Worktrees {
  return {
    async create(agent_id, repository, per) {
      const { files } = svc.ports
      const found = await repositoryAt(files, repository)
      if (!found) throw new FolderError({ path: repository, problem: NO_REPOSITORY })
      const objects = join(found.common, 'objects')
      const scratch = join(svc.project.workspaces, agent_id)
      const folder = join(scratch, FOLDER)
      await files.mkdir(folder, { recursive: true, mode: 0o700 })
      const folders: GivenFolder[] = [
        { path: await files.realpath(folder), access: 'read-write', purpose: 'worktree' },
        { path: await files.realpath(objects), access: 'read-only', purpose: 'objects' },
      ]
      const reach = { workspace: folder, scratch, folders }
      const place = { folder: folders[0]!.path, agent_id, reach, write: [], objects: [folders[1]!.path] }
      try {
        const branch: Branch = {
          agent_id,
          branch: branchName(agent_id, null),
          goal_id: null,
          repository,
          per,
          base: await headOf(svc, await sourceOf(svc, agent_id, repository)),
        }
        await git(svc, place, ['init', '--quiet', '--template=', `--initial-branch=${branch.branch}`])
        await files.mkdir(join(folder, '.git/info'), { recursive: true })
        await files.writeFile(join(folder, '.git/objects/info/alternates'), `${folders[1]!.path}\n`)
        for (const name of COPIED)
          await files.copyFile(join(found.common, name), join(folder, '.git', name)).catch(() => {})
        await git(svc, place, ['reset', '--quiet', '--hard', branch.base])
        await keepCommit(svc, branch, branch.base)
        folders.push(...(await linkPackages(files, repository, folder)))
        return { folders, effects: [enterBranch(branch)] }
      } catch (error) {
        await files.rm(folder, { recursive: true, force: true })
        throw error
      }
    },
  }
}

/** Links the packages that are installed in a repository into a worktree, where git ignores the links. */
async function linkPackages(files: Ports['files'], repository: string, folder: string): Promise<GivenFolder[]> {
  const top = await files.realpath(repository)
  const linked: string[] = []
  for (const name of PACKAGES) {
    const path = join(top, name)
    const isFolder = (await files.lstat(path).catch(() => undefined))?.isDirectory()
    const isTracked = await files.lstat(join(folder, name)).catch(() => undefined)
    if (!isFolder || isTracked) continue
    await files.symlink(path, join(folder, name))
    linked.push(name)
  }
  if (linked.length > 0)
    await files.appendFile(join(folder, '.git/info/exclude'), `\n${linked.map(name => `/${name}\n`).join('')}`)
  return linked.map(name => ({ path: join(top, name), access: 'read-only', purpose: 'packages' }))
}

const NO_REPOSITORY =
  'is not the top folder of a git repository; give the folder that contains .git, or create a repository there with git init'

/** Returns whether an agent works in a worktree of its own. */
export function hasWorktree({ agent_id, folders, workspace }: Pick<AgentRow, 'agent_id' | 'folders' | 'workspace'>) {
  // A sub-agent uses the worktree of its parent, which is in the parent's folder.
  return basename(dirname(workspace)) === agent_id && folders.some(({ purpose }) => purpose === 'worktree')
}

/** Returns the worktree of an agent as a place for git. */
export function placeOf(svc: PluginHandle, agent: AgentRow): GitPlace {
  const reach = agentReach(svc.project, agent)
  const objects = agent.folders.filter(({ purpose }) => purpose === 'objects').map(({ path }) => path)
  return { folder: agent.workspace, agent_id: agent.agent_id, reach, write: [], objects }
}

/** Returns the operator's repository as a place for git. @throws FolderError when it is gone */
export async function sourceOf(svc: PluginHandle, agent_id: string, repository: string): Promise<GitPlace> {
  const found = await repositoryAt(svc.ports.files, repository)
  if (!found) throw new FolderError({ path: repository, problem: NO_REPOSITORY })
  const scratch = join(svc.project.workspaces, agent_id)
  const write = [repository, found.git, found.common]
  return { folder: repository, agent_id, reach: { workspace: scratch, scratch }, write, objects: [] }
}

/** Returns the commit that is checked out. @throws FolderError where there is none */
export async function headOf(svc: PluginHandle, place: GitPlace): Promise<string> {
  const { code, stdout } = await tryGit(svc, place, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'])
  if (code !== 0)
    throw new FolderError({
      path: place.folder,
      problem: 'is a git repository without a commit; commit something first',
    })
  return stdout.head.toString().trim()
}

/**
 * Protects a commit of the operator's repository from garbage collection, because worktrees borrow it. Its ref is not
 * listed as a branch.
 */
export async function keepCommit(svc: PluginHandle, { agent_id, repository, branch }: Branch, commit: string) {
  await git(svc, await sourceOf(svc, agent_id, repository), ['update-ref', backupRef(branch), commit])
}

/** Returns the ref that protects a branch's commits, outside of the branch namespace. */
export function backupRef(branch: string): string {
  return `refs/svc-worktrees/${branch.slice('svc/'.length)}`
}

function branchName(agent_id: string, goal_id: string | null): string {
  return `svc/${goal_id ?? agent_id}`
}

/** Commits all changes and checks out the branch of a goal, for an agent with a branch for each goal. */
export async function enterGoal(svc: PluginHandle, agent: AgentRow, goal_id: string): Promise<void> {
  const branches = await branchesOf(svc.use(Store), agent.agent_id)
  const current = branches[0]
  if (current?.per !== 'goal' || current.goal_id === goal_id) return
  const place = placeOf(svc, agent)
  await commitAll(svc, place, `Work of ${agent.name}`)
  const known = branches.find(branch => branch.goal_id === goal_id)
  const source = await sourceOf(svc, agent.agent_id, current.repository)
  const next = known ?? {
    ...current,
    branch: branchName(agent.agent_id, goal_id),
    goal_id,
    base: await headOf(svc, source),
  }
  if (!known) await keepCommit(svc, next, next.base)
  const from = known ? [next.branch] : ['-B', next.branch, next.base]
  const isUnchanged = (await headOf(svc, place)) === current.base
  await git(svc, place, ['checkout', '--quiet', '--force', ...from])
  await svc.use(Store).apply([enterBranch(next)])
  if (isUnchanged) await dropBranch(svc, place, source, current)
}

/** Removes a branch that is not checked out. */
export async function dropBranch(svc: PluginHandle, place: GitPlace, source: GitPlace, branch: Branch): Promise<void> {
  await git(svc, source, ['update-ref', '-d', backupRef(branch.branch)])
  await git(svc, place, ['branch', '--quiet', '-D', branch.branch])
  await svc.use(Store).apply([forgetBranch(branch)])
}

/** Commits all changes in a worktree, if there are any. */
export async function commitAll(svc: PluginHandle, place: GitPlace, message: string): Promise<void> {
  await git(svc, place, ['add', '--all'])
  const { code } = await tryGit(svc, place, ['diff', '--cached', '--quiet', '--no-ext-diff'])
  if (code !== 0) await git(svc, place, ['commit', '--quiet', '--no-verify', '--file=-'], { input: message })
}
