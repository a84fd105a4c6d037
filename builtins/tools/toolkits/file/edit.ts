import { defineError } from '#kernel'
import { pluralize } from '#lib/pluralize'
import { type Block, exact, matchers, nearest } from './block.ts'

export const EditError = defineError({
  code: 'edit_refused',
  status: 422,
  title: 'Edit refused',
  // A problem may end with lines of the file, which get no period.
  message: ({ path, problem }: { path: string; problem: string }) =>
    `${JSON.stringify(path)} was not changed: ${problem}${problem.includes('\n') ? '' : '.'}`,
})

export interface Edit {
  old_text: string
  new_text: string
  replace_all: boolean
}

/** Maximum number of places listed for an ambiguous text. */
const MOST_NAMED = 5

/**
 * Applies edits in order, all or none. A text without an exact match is searched ignoring blanks, then ignoring
 * indentation, which the new text then adopts. In a file with CRLF line ends, texts with LF match and are converted.
 * @returns the new text, and a note for each inexact match
 * @throws EditError when there is no match, or several without `replace_all`
 */
export function applyEdits(path: string, text: string, edits: readonly Edit[]): { text: string; notes: string[] } {
  const isWindows = /\r\n/.test(text) && !/[^\r]\n/.test(text)
  const plain = (each: string) => (isWindows ? each.replaceAll('\r\n', '\n') : each)
  const notes: string[] = []
  let edited = plain(text)
  for (const [n, edit] of edits.entries()) {
    const which = edits.length > 1 ? `edit ${n + 1}: ` : ''
    const { old_text, new_text } = { old_text: plain(edit.old_text), new_text: plain(edit.new_text) }
    if (old_text === new_text) throw new EditError({ path, problem: `${which}old_text and new_text are the same` })
    const { blocks, note } = placesOf(path, edited, old_text, which)
    if (blocks.length > 1 && !edit.replace_all)
      throw new EditError({ path, problem: ambiguous(edited, blocks, which, n) })
    if (note) notes.push(`${which}${note}`)
    edited = replaceBlocks(edited, blocks, new_text)
  }
  return { text: isWindows ? edited.replaceAll('\n', '\r\n') : edited, notes }
}

/**
 * Returns the places of a text, by the first comparison that finds it.
 * @throws EditError
 */
function placesOf(path: string, text: string, old_text: string, which: string): { blocks: Block[]; note?: string } {
  const blocks = exact(text, old_text)
  if (blocks.length > 0) return { blocks }
  for (const { name, find } of matchers) {
    const blocks = find(text, old_text)
    if (blocks.length > 0)
      return { blocks, note: `matched at line ${lineAt(text, blocks[0]!.start)}, ignoring ${name}` }
  }
  const near = nearest(text, old_text)
  const remedy = near
    ? `the closest lines are below. Copy old_text from them, without row numbers, or read the file again\n${near}`
    : 'no similar line was found; read the file again'
  throw new EditError({ path, problem: `${which}old_text does not occur in the file; ${remedy}` })
}

function replaceBlocks(text: string, blocks: readonly Block[], new_text: string): string {
  let end = 0
  const parts = blocks.flatMap(block => {
    // A block that overlaps the previous one was replaced with it.
    if (block.start < end) return []
    const before = text.slice(end, block.start)
    end = block.end
    return [before, block.indent(new_text)]
  })
  return [...parts, text.slice(end)].join('')
}

/** @param before number of edits that the text already has */
function ambiguous(text: string, blocks: readonly Block[], which: string, before: number): string {
  const lines = blocks.slice(0, MOST_NAMED).map(({ start }) => lineAt(text, start))
  const times = blocks.length > MOST_NAMED ? `more than ${MOST_NAMED} times` : pluralize(blocks.length, 'time')
  const counted = before > 0 ? ', as the edits before leave the file' : ''
  return `${which}old_text occurs ${times} (lines ${lines.join(', ')}${counted}); include more of the surrounding text, or set replace_all`
}

/** Returns the line number of an index. */
function lineAt(text: string, index: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at >= 0 && at < index; at = text.indexOf('\n', at + 1)) line++
  return line
}
