import { join } from 'node:path'
import { type AgentRow, Agents, type DeletedAgent } from '#core/agents/contract'
import { errorMessage, type PluginHandle } from '#kernel'
import { changedFiles, PLAIN_DIFF } from '#lib/changed-files'
import { appendEvent, Store, wakeAgents } from '#platform/store/contract'
import { Jail } from '#safety/sandbox/contract'
import {
  type Accepted,
  type AgentChanges,
  BranchExistsError,
  DirtyRepositoryError,
  MergeConflictError,
  NoChangesError,
  NoWorktreeError,
} from './contract.ts'
import { type GitPlace, git, tryGit } from './git.ts'
import { type Branch, branchesOf, moveBase } from './repository.ts'
import { backupRef, commitAll, dropBranch, hasWorktree, headOf, keepCommit, placeOf, sourceOf } from './tree.ts'

const MAX_COMMITS = 50
/** Maximum size of a shown patch, in bytes. */
const MAX_PATCH = 200_000

interface Reviewed {
  agent: AgentRow
  branch: Branch
  /** Whether the branch is checked out. */
  current: boolean
  place: GitPlace
  others: Branch[]
}

/**
 * Finds the agent and its branch.
 * @throws AgentNotFoundError, AmbiguousAgentError, NoWorktreeError
 */
async function find(svc: PluginHandle, ref: string, goal: string | undefined): Promise<Reviewed> {
  const agent = await svc.use(Agents).find(ref)
  const { agent_id } = agent
  const branches = hasWorktree(agent) ? await branchesOf(svc.use(Store), agent_id) : []
  if (branches.length === 0) throw new NoWorktreeError({ agent_id })
  const branch = goal === undefined ? branches[0] : branches.find(({ goal_id }) => goal_id === goal)
  if (!branch) throw new NoWorktreeError({ agent_id, goal })
  const others = branches.filter(other => other !== branch)
  return { agent, branch, current: branch === branches[0], place: placeOf(svc, agent), others }
}

/**
 * Returns an agent's changes, uncommitted ones included.
 * @throws NoWorktreeError, GitFailedError
 */
export async function changesOf(svc: PluginHandle, ref: string, goal: string | undefined): Promise<AgentChanges> {
  const { branch, current, place, others } = await find(svc, ref, goal)
  const { agent_id, repository, goal_id, base } = branch
  const head = current ? 'HEAD' : `refs/heads/${branch.branch}`
  const now = current ? await treeNow(svc, place) : head
  const patch = await tryGit(svc, place, ['diff', ...PLAIN_DIFF, base, now])
  const committed = await tryGit(svc, place, ['diff', '--quiet', ...PLAIN_DIFF, head, now])
  const log = ['log', `--max-count=${MAX_COMMITS}`, '--no-show-signature', '--format=%h %s', `${base}..${head}`]
  const commits = (await git(svc, place, log)).split('\n').filter(Boolean)
  return {
    agent_id,
    repository,
    branch: branch.branch,
    goal_id,
    base,
    files: await changedFiles((...options) => git(svc, place, ['diff', ...PLAIN_DIFF, ...options, base, now])),
    commits: commits.map(line => ({ commit: line.split(' ', 1)[0]!, subject: line.slice(line.indexOf(' ') + 1) })),
    uncommitted: committed.code !== 0,
    patch: patch.stdout.head.subarray(0, MAX_PATCH).toString(),
    truncated: patch.stdout.bytes > MAX_PATCH,
    others: others.map(other => ({ branch: other.branch, goal_id: other.goal_id })),
  }
}

/**
 * Writes a tree of all current files, using a temporary index, so that the agent's index stays unchanged. The index is
 * copied by the rules for the agent's own tools, because the agent may have put links in both places.
 */
async function treeNow(svc: PluginHandle, place: GitPlace): Promise<string> {
  const { files, ids } = svc.ports
  const jail = svc.use(Jail)
  const index = join(place.reach.scratch!, '.tmp', ids.make('review', 8))
  const current = await jail.open(place.reach, join(place.folder, '.git/index')).catch(() => undefined)
  if (current) await jail.replace(place.reach, index, await current.readFile().finally(() => current.close()))
  try {
    const env = { GIT_INDEX_FILE: index }
    await git(svc, place, ['add', '--all'], { env })
    return (await git(svc, place, ['write-tree'], { env })).trim()
  } finally {
    await files.rm(index, { force: true })
  }
}

/**
 * Commits an agent's changes and merges them into the checked-out branch of the operator's repository.
 * @param toBranch creates a branch there instead of merging
 * @throws NoWorktreeError, NoChangesError, DirtyRepositoryError, BranchExistsError, MergeConflictError, GitFailedError
 */
export async function accept(
  svc: PluginHandle,
  ref: string,
  goal: string | undefined,
  toBranch: boolean,
): Promise<Accepted> {
  const reviewed = await find(svc, ref, goal)
  const { agent, branch, current, place } = reviewed
  const { agent_id, repository } = branch
  const source = await sourceOf(svc, agent_id, repository)
  const commit = await handOver(svc, reviewed, source)
  const accepted = { agent_id, repository, branch: branch.branch, commit }
  if (toBranch) {
    await makeBranch(svc, source, branch, commit)
    return { ...accepted, merged: false }
  }
  await merge(svc, source, branch, commit, agent.name)
  const merged = await headOf(svc, source)
  if (!current) {
    await dropBranch(svc, place, source, branch)
    return { ...accepted, merged: true }
  }
  await keepCommit(svc, branch, merged)
  // The agent may be working: if its files prevent the fast-forward, later changes are compared with the accepted
  // commit.
  const moved = await tryGit(svc, place, ['merge', '--quiet', '--ff-only', merged])
  await svc
    .use(Store)
    .apply([
      moveBase({ ...branch, base: moved.code === 0 ? merged : commit }),
      wakeAgents({ agents: [agent_id], reason: 'changes accepted' }),
    ])
  return { ...accepted, merged: true }
}

/**
 * Commits remaining changes and fetches the branch's commits into the operator's repository.
 * @returns the newest commit
 * @throws NoChangesError
 */
async function handOver(svc: PluginHandle, { agent, branch, current, place }: Reviewed, source: GitPlace) {
  if (current) await commitAll(svc, place, `Work of ${agent.name}`)
  const ref = current ? 'HEAD' : `refs/heads/${branch.branch}`
  const commit = (await git(svc, place, ['rev-parse', '--verify', `${ref}^{commit}`])).trim()
  const { agent_id } = agent
  if (commit === branch.base) throw new NoChangesError({ agent_id, branch: branch.branch })
  const bundle = join(place.reach.scratch!, '.tmp', svc.ports.ids.make('changes', 8))
  try {
    await git(svc, place, ['bundle', 'create', '--quiet', bundle, ref, `^${branch.base}`])
    // A bundle contains only objects, so git runs and reads no settings of the agent's repository.
    const checked = ['-c', 'protocol.file.allow=always', '-c', 'transfer.fsckObjects=true']
    const plain = ['--quiet', '--no-tags', '--no-write-fetch-head']
    await git(svc, source, [...checked, 'fetch', ...plain, bundle, `+${ref}:${backupRef(branch.branch)}`])
    return commit
  } finally {
    await svc.ports.files.rm(bundle, { force: true })
  }
}

/**
 * Creates the branch in the operator's repository.
 * @throws BranchExistsError
 */
async function makeBranch(svc: PluginHandle, source: GitPlace, { branch, repository }: Branch, commit: string) {
  const there = await tryGit(svc, source, ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`])
  if (there.code === 0) {
    const was = there.stdout.head.toString().trim()
    const { code } = await tryGit(svc, source, ['merge-base', '--is-ancestor', was, commit])
    if (code !== 0) throw new BranchExistsError({ repository, branch })
  }
  const { code } = await tryGit(svc, source, ['branch', '--quiet', '--force', branch, commit])
  if (code !== 0) throw new BranchExistsError({ repository, branch })
}

/**
 * Merges a commit into the operator's repository. On an error the branch is created instead, for a manual merge.
 * @throws DirtyRepositoryError, MergeConflictError
 */
async function merge(svc: PluginHandle, source: GitPlace, branch: Branch, commit: string, name: string): Promise<void> {
  const { repository } = branch
  const status = await git(svc, source, [
    'status',
    '--porcelain',
    '-z',
    '--untracked-files=no',
    '--ignore-submodules=all',
  ])
  const dirty = status.split('\0').flatMap(entry => (entry.length > 3 ? [entry.slice(3)] : []))
  if (dirty.length > 0) {
    await makeBranch(svc, source, branch, commit)
    throw new DirtyRepositoryError({ repository, files: dirty, branch: branch.branch })
  }
  const words = [
    'merge',
    '--quiet',
    '--no-stat',
    '--no-verify',
    '-m',
    `Merge work of ${name} (${branch.branch})`,
    commit,
  ]
  const end = await tryGit(svc, source, words)
  if (end.code === 0) return
  const unmerged = await git(svc, source, ['diff', '--name-only', '-z', '--diff-filter=U', ...PLAIN_DIFF])
  await tryGit(svc, source, ['merge', '--abort'])
  await makeBranch(svc, source, branch, commit)
  const problem = end.stderr.head.toString().trim().split('\n')[0] || 'the history of commits'
  const files = unmerged.split('\0').filter(Boolean)
  const head = (await headOf(svc, source)).slice(0, 12)
  throw new MergeConflictError({ repository, branch: branch.branch, files: files.length > 0 ? files : [problem], head })
}

/**
 * Discards an agent's changes and resets its files to those of the operator's repository.
 * @throws NoWorktreeError
 */
export async function discard(svc: PluginHandle, ref: string, goal: string | undefined): Promise<Branch> {
  const { branch, current, place } = await find(svc, ref, goal)
  const source = await sourceOf(svc, branch.agent_id, branch.repository)
  if (!current) {
    await dropBranch(svc, place, source, branch)
    return branch
  }
  const base = await headOf(svc, source)
  await keepCommit(svc, branch, base)
  await git(svc, place, ['checkout', '--quiet', '--force', '-B', branch.branch, base])
  await git(svc, place, ['clean', '--quiet', '-ffd'])
  await svc
    .use(Store)
    .apply([moveBase({ ...branch, base }), wakeAgents({ agents: [branch.agent_id], reason: 'changes discarded' })])
  return { ...branch, base }
}

/** Keeps a deleted agent's unmerged changes as branches of the operator's repository. */
export async function keepUnmerged(svc: PluginHandle, agent: AgentRow): Promise<DeletedAgent['kept_branches']> {
  const keptBranches: DeletedAgent['kept_branches'] = []
  if (!hasWorktree(agent)) return keptBranches
  const { agent_id } = agent
  const branches = await branchesOf(svc.use(Store), agent_id)
  let isKept = true
  for (const [n, branch] of branches.entries()) {
    const { repository } = branch
    try {
      const source = await sourceOf(svc, agent_id, repository)
      const place = placeOf(svc, agent)
      const commit = await handOver(svc, { agent, branch, current: n === 0, place, others: [] }, source).catch(
        error => {
          if (!(error instanceof NoChangesError)) throw error
        },
      )
      if (commit) {
        await makeBranch(svc, source, branch, commit)
        const kept = { agent_id, repository, branch: branch.branch }
        await svc.use(Store).apply([appendEvent({ type: 'changes_kept', agent_id, data: kept })])
        keptBranches.push({ repository, branch: branch.branch })
        svc.log.info(kept, `the changes of ${agent_id} are kept: branch ${branch.branch} of ${repository}`)
      }
      await git(svc, source, ['update-ref', '-d', backupRef(branch.branch)])
    } catch (error) {
      isKept = false
      svc.log.warn({ agent_id }, `${branch.branch} is kept in .svc/trash only: ${errorMessage(error)}`)
    }
  }
  if (isKept) await svc.ports.files.rm(agent.workspace, { recursive: true, force: true })
  return keptBranches
}
