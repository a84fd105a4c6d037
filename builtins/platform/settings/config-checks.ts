import { errorMessage } from '#kernel'
import type { ConfigCheck, ConfigFault, ConfigValues, Forbids } from './contract.ts'

/** Runs the checks of these levels, by default all. A check that throws becomes a fault of level `nothing`. */
export async function runChecks(
  checks: readonly ConfigCheck[],
  values: ConfigValues,
  levels: readonly Forbids[] = ['start', 'change', 'nothing'],
): Promise<ConfigFault[]> {
  const applicable = checks.filter(({ forbids }) => levels.includes(forbids))
  const found = applicable.map(async (each): Promise<ConfigFault[]> => {
    try {
      return (await each.check(values)).map(issue => ({ ...issue, forbids: each.forbids }))
    } catch (error) {
      return [{ path: each.name, message: `cannot be checked: ${errorMessage(error)}`, forbids: 'nothing' }]
    }
  })
  return (await Promise.all(found)).flat().filter(({ forbids }) => levels.includes(forbids))
}
