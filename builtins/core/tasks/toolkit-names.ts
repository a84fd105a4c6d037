import { PROFILE_TOOLKITS, Runtime } from '#core/runtime/contract'
import { InvalidInputError, type PluginHandle } from '#kernel'
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

/**
 * Returns the names of toolkits that were given with a task.
 * @throws InvalidInputError for names that do not exist
 */
export function givenToolkits(svc: PluginHandle, given: readonly string[]): string[] {
  const names = given.flatMap(each => each.split(',')).map(name => name.trim())
  const problems = svc.use(Runtime).unknownNames(
    'toolkit',
    names.filter(name => name !== PROFILE_TOOLKITS),
  )
  if (problems.length === 0) return names
  const issues = problems.map(message => ({ path: 'toolkits', message }))
  throw new InvalidInputError({ what: 'The request', issues }, { errors: issues })
}

function unknown(svc: PluginHandle, toolkits: readonly string[]): string[] {
  // Toolkits of the default list may be missing, because their modules may be disabled.
  const byDefault = TasksConfig.shape.toolkits.parse(undefined)
  const named = toolkits.filter(name => !byDefault.includes(name))
  return svc.use(Runtime).unknownNames('toolkit', named)
}
