import { plain } from './fit.ts'

/** What some servers leave at the end of a name: tokens of a chat template, a parenthesis, the number of the call. */
const TEMPLATE_REST = /(?:<\||\(|:\d+$).*$/s
/** What models put before a name: the namespace that they saw it in. */
const NAMESPACE = /^(?:functions?|tools?|default_api|api)[.:/]/

/**
 * The tool that a name means: that one, or the only one that differs from it in capitals, hyphens, underscores, a namespace or
 * what a chat template left behind. Undefined where there is none: a name that is merely near is not taken for another.
 */
export function toolNamed<T extends { name: string }>(written: string, tools: readonly T[]): T | undefined {
  const exact = tools.find(({ name }) => name === written)
  if (exact || written.length > 200) return exact
  const bare = written.trim().replace(TEMPLATE_REST, '').replace(NAMESPACE, '')
  const alike = tools.filter(({ name }) => plain(name) === plain(bare))
  return tools.find(({ name }) => name === bare) ?? (alike.length === 1 ? alike[0] : undefined)
}
