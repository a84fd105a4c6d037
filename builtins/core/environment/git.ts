import { join } from 'node:path'
import type { PluginHandle } from '#kernel'
import { gitRequest } from '#lib/git'
import { Jail, type Reach, Sandbox } from '#safety/sandbox/contract'

const TIME_LIMIT_MS = 5_000

/** Returns the branch and whether there are changes that are not committed; undefined where there is no repository. */
export async function gitState(svc: PluginHandle, reach: Reach, agent_id: string): Promise<string | undefined> {
  const branch = await branchOf(svc, reach)
  if (branch === undefined) return undefined
  const sandbox = svc.use(Sandbox)
  // Without a sandbox, repository settings that an agent wrote could make git run a program.
  if ((await sandbox.status()).wall === 'none') return branch
  const status = ['status', '--porcelain', '--untracked-files=normal', '--ignore-submodules=all']
  const end = await sandbox
    .run({ ...gitRequest(reach.workspace, agent_id, status), ...reach, network: false, time_limit_ms: TIME_LIMIT_MS })
    .catch(() => undefined)
  if (end?.code !== 0) return branch
  return `${branch}, ${end.stdout.bytes === 0 ? 'nothing to commit' : 'with uncommitted changes'}`
}

async function branchOf(svc: PluginHandle, reach: Reach): Promise<string | undefined> {
  const handle = await svc
    .use(Jail)
    .open(reach, join(reach.workspace, '.git/HEAD'))
    .catch(() => undefined)
  if (!handle) return undefined
  try {
    const head = (await handle.readFile('utf8')).slice(0, 300)
    const [, branch] = /^ref: refs\/heads\/([\w./+@-]+)/.exec(head) ?? []
    return branch ? `branch ${branch}` : 'no branch (detached HEAD)'
  } finally {
    await handle.close()
  }
}
