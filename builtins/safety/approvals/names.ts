import { closestMatches, type PluginHandle } from '#kernel'
import { Toolkits } from '#tools/toolkits/contract'
import type { ApprovalConfig } from './config.ts'

/**
 * Warns of tools that are listed for approval but never wait: misspelt names, or any tool while approvals are disabled.
 */
export function warnOfTools(svc: PluginHandle, { enabled, require_for }: ApprovalConfig): void {
  if (!enabled && require_for.length > 0)
    svc.log.warn(
      {},
      'approval.require_for lists tools, but approval.enabled is false, so none of them waits for approval',
    )
  const known = svc.list(Toolkits).flatMap(({ tools }) => tools.map(({ name }) => name))
  for (const name of require_for.filter(name => !known.includes(name))) {
    const [closest] = closestMatches(name, known)
    const hint = closest ? `; did you mean ${closest}?` : ''
    svc.log.warn({}, `approval.require_for lists ${JSON.stringify(name)}, but there is no tool of that name now${hint}`)
  }
}
