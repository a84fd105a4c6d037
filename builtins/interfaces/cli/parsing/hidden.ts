import { pluralize } from '#lib/pluralize'

/**
 * Returns the line that says how many rows a list hides and how to show them.
 * @param name singular of the rows, such as `ended sub-agent`
 */
export function hiddenLine(hidden: number, name: string): string {
  return `${pluralize(hidden, name)} hidden; --all shows them`
}
