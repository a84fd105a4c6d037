import type { Kernel } from '#kernel'
import { isTrusted, untrustedSentence } from '#lib/trust'

/** Which plugin files run: those of a project that this user trusts, all of them, or none. */
export type PluginFilesAllowed = 'trusted' | 'all' | 'none'

/**
 * Returns a function that returns why no code of the project may run now; undefined if it may. `found` is the number of
 * plugin files that would run: if there are any, it warns once that the project is not trusted.
 */
export function blockedReasonFor(
  allowed: PluginFilesAllowed,
  { project: { root }, ports, log }: Pick<Kernel, 'project' | 'ports' | 'log'>,
) {
  let hasWarned = false
  return async (found = 0): Promise<string | undefined> => {
    if (allowed === 'all') return undefined
    if (allowed === 'none') return 'this process runs no plugin files; the daemon does: svc start'
    if (await isTrusted(root, ports)) return undefined
    if (found > 0 && !hasWarned) log.warn({}, untrustedSentence(root))
    hasWarned ||= found > 0
    return untrustedSentence(root)
  }
}
