import { posix } from 'node:path'
import type { PluginHandle } from '#kernel'
import { Jail } from '#safety/sandbox/contract'
import type { ToolCall } from '#tools/toolkits/contract'
import { IgnoreRules } from './ignore.ts'
import { rulesIn } from './walk.ts'

/** Returns a folder's path relative to the workspace, with a trailing slash; empty for the workspace and outside it. */
export function baseOf(path: string): string {
  const inside = posix.normalize(`${path}/`).replace(/^\.\//, '')
  return /^(\/|\.\.)/.test(inside) ? '' : inside
}

/** Returns the exclusion rules of the folders from the workspace to a folder. */
export async function rulesAbove(svc: PluginHandle, call: ToolCall, base: string): Promise<IgnoreRules> {
  let rules = IgnoreRules.none
  const names = base.split('/').slice(0, -1)
  for (const n of names.keys()) {
    const above = names.slice(0, n).join('/')
    const folder = await svc.use(Jail).folder(call, above || '.')
    try {
      rules = rules.withRules(await rulesIn(svc.ports.files, folder), above)
    } finally {
      await folder.close()
    }
  }
  return rules
}
