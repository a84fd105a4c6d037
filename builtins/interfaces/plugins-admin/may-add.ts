import { HostToken, type PluginHandle } from '#kernel'

/** Returns whether there are plugin files that this process does not run: what is missing here may be theirs. */
export function mayPluginsAdd(svc: Pick<PluginHandle, 'use'>): boolean {
  return svc
    .use(HostToken)
    .list()
    .some(({ state }) => state === 'unloaded')
}
