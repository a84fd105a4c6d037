import { defineError } from '#kernel'

const EditError = defineError({
  code: 'edit_refused',
  status: 422,
  title: 'Edit refused',
  sentence: (p: { path: string; problem: string }) => `${JSON.stringify(p.path)} was not changed: ${p.problem}.`,
})

/**
 * Puts `new_text` in the place of the one occurrence of `old_text`. In a file with Windows line ends, text given with plain
 * ones is meant to have them too.
 * @throws EditError when there is no occurrence, or more than one
 */
export function replaceOnce(path: string, text: string, old_text: string, new_text: string): string {
  if (old_text === new_text) throw new EditError({ path, problem: 'old_text and new_text are the same' })
  const windows = !text.includes(old_text) && text.includes('\r\n')
  const [wanted, given] = [old_text, new_text].map(each => (windows ? each.replace(/\r?\n/g, '\r\n') : each)) as [
    string,
    string,
  ]
  const at = occurrences(text, wanted)
  if (at.length === 0) {
    throw new EditError({
      path,
      problem: 'old_text does not occur in it; read the file and copy the text exactly, without row numbers',
    })
  }
  if (at.length > 1) {
    const lines = at.slice(0, MOST_TOLD).map(index => lineAt(text, index))
    const times = at.length > MOST_TOLD ? `more than ${MOST_TOLD}` : at.length
    throw new EditError({
      path,
      problem: `old_text occurs ${times} times (lines ${lines.join(', ')}); include more of the text around the place that you mean`,
    })
  }
  return text.slice(0, at[0]) + given + text.slice(at[0]! + wanted.length)
}

/** How many places an ambiguous text is said to stand at. */
const MOST_TOLD = 5

/** Where `part` begins, overlaps counted too: they are just as ambiguous. Stops when there are more than are told. */
function occurrences(text: string, part: string): number[] {
  const found: number[] = []
  for (let at = text.indexOf(part); at >= 0 && found.length <= MOST_TOLD; at = text.indexOf(part, at + 1))
    found.push(at)
  return found
}

function lineAt(text: string, index: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at >= 0 && at < index; at = text.indexOf('\n', at + 1)) line++
  return line
}
