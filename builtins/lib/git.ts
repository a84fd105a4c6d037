import { dirname, join } from 'node:path'
import type { Ports } from '#kernel'

/**
 * Options for every command: ignore settings of the machine and the user, run no hooks or helpers, and never prompt.
 */
const SETTINGS = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.untrackedCache=false',
  'core.attributesFile=/dev/null',
  'core.excludesFile=/dev/null',
  'commit.gpgSign=false',
  'tag.gpgSign=false',
  'log.showSignature=false',
  'protocol.allow=never',
  'gc.auto=0',
  'maintenance.auto=false',
  'safe.bareRepository=explicit',
  'credential.helper=',
  'core.pager=cat',
  'core.editor=false',
  'submodule.recurse=false',
  'diff.ignoreSubmodules=all',
].flatMap(setting => ['-c', setting])

/** Returns the variables by which an agent's commits carry its name. */
export function authorEnv(agent_id: string) {
  const email = `${agent_id}@agents.invalid`
  return {
    GIT_AUTHOR_NAME: agent_id,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_NAME: agent_id,
    GIT_COMMITTER_EMAIL: email,
  }
}

/** Returns the program with its arguments and variables, for the repository at the top of a folder and in an agent's name. */
export function gitRequest(folder: string, agent_id: string, args: readonly string[]) {
  const argv: [string, ...string[]] = ['git', '--no-pager', '--no-optional-locks', ...SETTINGS, ...args]
  const env = {
    GIT_DIR: join(folder, '.git'),
    GIT_WORK_TREE: folder,
    GIT_CEILING_DIRECTORIES: dirname(folder),
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_LITERAL_PATHSPECS: '1',
    ...authorEnv(agent_id),
  }
  return { argv, env }
}

/** Settings that a repository may have. Most others make git run a program, or use files elsewhere. */
const HARMLESS =
  /^(core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf|quotepath)|user\.(name|email)|init\.defaultbranch|(branch|remote)\..+\.(remote|merge|rebase|url|fetch)|pull\.(rebase|ff)|push\.default|color\..+|advice\..+)$/
/** Files by which a repository uses objects or settings elsewhere. */
const LEADING_OUT = ['commondir', 'objects/info/alternates', 'objects/info/http-alternates', 'config.worktree']
/** Files with which the sandbox holds the places of some of these, with their content, which changes nothing. */
export const HELD: Readonly<Record<string, string>> = {
  commondir: '.\n',
  'config.worktree': '# Held while programs run.\n',
}
const KEPT = ['objects', 'refs', 'config', 'HEAD', 'index']

/** Arguments that list the names of a repository's settings, separated by NUL. */
export const LIST_SETTINGS = ['config', '--file', join('.git', 'config'), '--list', '--name-only', '-z']

/**
 * Returns the name of a setting that could make git run a program.
 * @param printed the output of `LIST_SETTINGS`
 */
export function unsafeSetting(printed: string): string | undefined {
  return printed
    .toLowerCase()
    .split('\0')
    .filter(Boolean)
    .find(name => !HARMLESS.test(name))
}

/**
 * Returns the file of a repository that refers to a place outside it.
 * @param git the repository's `.git`
 * @param objects object folders that the repository may borrow from
 */
export async function fileLeadingOut(
  files: Ports['files'],
  git: string,
  objects: readonly string[],
): Promise<string | undefined> {
  for (const name of [...LEADING_OUT, ...KEPT]) {
    const path = join(git, name)
    const found = await files.lstat(path).catch(() => undefined)
    if (!found || !(LEADING_OUT.includes(name) || found.isSymbolicLink())) continue
    if (found.isFile() && name in HELD && (await files.readFile(path, 'utf8')) === HELD[name]) continue
    const isBorrowed = name === 'objects/info/alternates' && found.isFile()
    const lines = isBorrowed ? (await files.readFile(path, 'utf8')).split('\n').filter(Boolean) : []
    if (!isBorrowed || !lines.every(line => objects.includes(line))) return name
  }
  return undefined
}
