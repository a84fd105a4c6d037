import { Runtime } from '#core/runtime/contract'
import type { PluginHandle } from '#kernel'
import type { ConfigCheck } from '#platform/settings/contract'
import { TasksConfig } from './config.ts'

const KEY = 'tasks.toolkits'

/** Checks that the configured toolkits of tasks exist. */
export function toolkitsCheck(svc: PluginHandle): ConfigCheck {
  return {
    name: KEY,
    forbids: 'nothing',
    check: ({ get }) => unknown(svc, get(KEY) as string[]).map(message => ({ path: KEY, message })),
  }
}

/** Warns of toolkits that do not exist. */
export function warnOfToolkits(svc: PluginHandle, { toolkits }: TasksConfig): void {
  for (const message of unknown(svc, toolkits)) svc.log.warn({}, `${KEY}: ${message}`)
}

function unknown(svc: PluginHandle, toolkits: readonly string[]): string[] {
  // Toolkits of the default list may be missing, because their modules may be disabled.
  const byDefault = TasksConfig.shape.toolkits.parse(undefined)
  const named = toolkits.filter(name => !byDefault.includes(name))
  return svc.use(Runtime).unknownNames('toolkit', named)
}
