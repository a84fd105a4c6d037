import { dirname, join } from 'node:path'

/** Before every command: nothing of the machine's or the user's settings, no hooks, no helpers, no prompt. */
const SETTINGS = [
  ...['core.hooksPath=/dev/null', 'core.fsmonitor=false', 'core.untrackedCache=false', 'core.attributesFile=/dev/null'],
  ...['core.excludesFile=/dev/null', 'commit.gpgSign=false', 'tag.gpgSign=false', 'log.showSignature=false'],
  ...['protocol.allow=never', 'gc.auto=0', 'maintenance.auto=false', 'safe.bareRepository=explicit'],
  ...['credential.helper=', 'core.pager=cat', 'core.editor=false', 'submodule.recurse=false'],
  'diff.ignoreSubmodules=all',
].flatMap(setting => ['-c', setting])

/** Returns the program with its arguments and variables, for the repository at the top of a folder and in an agent's name. */
export function gitRequest(folder: string, agent_id: string, args: readonly string[]) {
  const email = `${agent_id}@agents.invalid`
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
    GIT_AUTHOR_NAME: agent_id,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_NAME: agent_id,
    GIT_COMMITTER_EMAIL: email,
  }
  return { argv, env }
}
