import { pluralize } from '#lib/pluralize'

/** What a list leaves out, and how it is shown. @param name one of them, as in `ended sub-agent` */
export function hiddenLine(hidden: number, name: string): string {
  return `${pluralize(hidden, name)} hidden; --all shows them`
}
