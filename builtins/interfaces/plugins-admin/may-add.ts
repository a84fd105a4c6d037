import { HostToken, type PluginHandle } from '#kernel'

/** Returns whether there are plugin files that this process does not run; something missing here may come from them. */
export function mayPluginsAdd(svc: Pick<PluginHandle, 'use'>): boolean {
  return svc
    .use(HostToken)
    .list()
    .some(({ state }) => state === 'unloaded')
}
