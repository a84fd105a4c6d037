import { join, resolve } from 'node:path'
import type { PluginHandle } from '#kernel'
import { fileLeadingOut, gitRequest, LIST_SETTINGS, unsafeSetting } from '#lib/git'
import { type ProcessEnd, type Reach, Sandbox } from '#safety/sandbox/contract'
import { GitFailedError, UnsafeRepositoryError } from './contract.ts'

const TIME_LIMIT_MS = 60_000

/** A working folder of git, and what else git may access. Git runs there in the sandbox, without hooks and network. */
export interface GitPlace {
  /** Top folder of the working files. */
  folder: string
  agent_id: string
  reach: Reach
  /** Folders outside of `reach` that git may write. */
  write: readonly string[]
  /** Folders from which git may borrow objects. */
  objects: readonly string[]
}

/**
 * Runs git.
 * @returns its output
 * @throws GitFailedError, UnsafeRepositoryError, ProgramError
 */
export async function git(svc: PluginHandle, place: GitPlace, args: readonly string[], how: GitInput = {}) {
  const end = await tryGit(svc, place, args, how)
  if (end.code === 0) return end.stdout.head.toString()
  throw gitFailed(place, args, end)
}

interface GitInput {
  input?: string
  env?: Readonly<Record<string, string>>
}

/**
 * Runs git and returns its exit code and output, for commands whose failure is an answer.
 * @throws UnsafeRepositoryError, ProgramError
 */
export async function tryGit(svc: PluginHandle, place: GitPlace, args: readonly string[], how: GitInput = {}) {
  const sandbox = svc.use(Sandbox)
  if ((await sandbox.status()).wall === 'none') await refuseUnsafe(svc, place)
  return run(svc, place, args, how)
}

function gitFailed({ folder }: GitPlace, args: readonly string[], { stdout, stderr }: ProcessEnd) {
  const problem = [stderr, stdout].map(({ head }) => head.toString().trim()).find(Boolean) ?? 'it printed nothing'
  const command = args.find((arg, n) => !arg.startsWith('-') && args[n - 1] !== '-c') ?? ''
  return new GitFailedError({ command, folder, problem: problem.split('\n').slice(0, 3).join(' ') })
}

function run(svc: PluginHandle, place: GitPlace, args: readonly string[], { input = '', env = {} }: GitInput) {
  const request = gitRequest(place.folder, place.agent_id, args)
  return svc.use(Sandbox).run({
    ...place.reach,
    argv: request.argv,
    env: { ...request.env, ...env },
    input,
    cwd: place.folder,
    write: place.write,
    network: false,
    time_limit_ms: TIME_LIMIT_MS,
  })
}

/**
 * Refuses a repository with unsafe settings: without a sandbox, git would run the programs that they name.
 * @throws UnsafeRepositoryError
 */
async function refuseUnsafe(svc: PluginHandle, place: GitPlace): Promise<void> {
  const refuse = (problem: string): never => {
    throw new UnsafeRepositoryError({ repository: place.folder, problem })
  }
  const at = join(place.folder, '.git')
  const found = await svc.ports.files.lstat(at).catch(() => undefined)
  if (!found) return
  if (!found.isDirectory()) refuse('its .git, which leads to another folder,')
  const leading = await fileLeadingOut(svc.ports.files, at, place.objects)
  if (leading) refuse(`.git/${leading}`)
  const { code, stdout } = await run(svc, place, LIST_SETTINGS, {})
  const setting = code === 0 ? unsafeSetting(stdout.head.toString()) : 'unreadable'
  if (setting || stdout.tail.length > 0) refuse(`the setting ${setting ?? 'list'} of .git/config`)
}

/** Returns the folders of the repository at the top of a folder; undefined where there is none. */
export async function repositoryAt(
  files: PluginHandle['ports']['files'],
  folder: string,
): Promise<{ git: string; common: string } | undefined> {
  const at = join(folder, '.git')
  const found = await files.stat(at).catch(() => undefined)
  if (!found) return undefined
  // In a worktree of the operator, `.git` is a file that names its folder in the main repository.
  const [, named] = found.isDirectory() ? [] : (/^gitdir: (.+)/.exec(await files.readFile(at, 'utf8')) ?? [])
  if (!found.isDirectory() && named === undefined) return undefined
  const git = named === undefined ? at : resolve(folder, named.trim())
  const common = await files.readFile(join(git, 'commondir'), 'utf8').catch(() => '.')
  return { git, common: resolve(git, common.trim()) }
}
