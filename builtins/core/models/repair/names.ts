import { plain } from './fit.ts'

/** Suffixes that some servers leave on a name: chat template tokens, a parenthesis, the number of the call. */
const TEMPLATE_REST = /(?:<\||\(|:\d+$).*$/s
/** Namespaces that models put before a name. */
const NAMESPACE = /^(?:functions?|tools?|default_api|api)[.:/]/

/**
 * Returns the tool with this name, or the only one that differs just in case, hyphens, underscores, namespace or chat
 * template remains. Undefined if there is none: names that are merely similar do not match.
 */
export function toolNamed<T extends { name: string }>(written: string, tools: readonly T[]): T | undefined {
  const exact = tools.find(({ name }) => name === written)
  if (exact || written.length > 200) return exact
  const bare = written.trim().replace(TEMPLATE_REST, '').replace(NAMESPACE, '')
  const alike = tools.filter(({ name }) => plain(name) === plain(bare))
  return tools.find(({ name }) => name === bare) ?? (alike.length === 1 ? alike[0] : undefined)
}
