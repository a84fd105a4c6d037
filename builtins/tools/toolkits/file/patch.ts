import { applyPatch, parsePatch, type StructuredPatch } from 'diff'
import { ToolError } from '../contract.ts'
import { nearest } from './block.ts'
import { EditError } from './edit.ts'

/** Maximum number of context lines that may differ when a hunk is located. */
const FUZZ = 2

/** The changes to one file of a patch. */
export interface FilePatch {
  path: string
  /** Whether the patch creates the file. */
  isNew: boolean
  /** @throws EditError when a hunk does not match the text */
  apply(text: string): string
}

/**
 * Parses a unified diff.
 * @throws ToolError when it is no patch; EditError when it removes or renames files
 */
export function patchOf(diff: string): FilePatch[] {
  const parsed = readPatch(diff)
  if (parsed.length === 0 || parsed.every(({ hunks }) => hunks.length === 0)) {
    throw new ToolError({ problem: `The patch contains no changes. ${FORM}.` })
  }
  return parsed.map(filePatch)
}

const FORM = 'Write a unified diff: "--- a/file", "+++ b/file", then hunks that begin with "@@ -1,3 +1,4 @@"'

function readPatch(diff: string): StructuredPatch[] {
  try {
    return parsePatch(diff.endsWith('\n') ? diff : `${diff}\n`)
  } catch (error) {
    throw new ToolError(
      { problem: `The patch cannot be read: ${(error as Error).message}. ${FORM}.` },
      { cause: error },
    )
  }
}

function filePatch(patch: StructuredPatch): FilePatch {
  const [from, to] = [nameOf(patch.oldFileName), nameOf(patch.newFileName)]
  const path = to ?? from
  if (path === undefined) throw new EditError({ path: 'patch', problem: `a part of the patch names no file. ${FORM}` })
  if (to === undefined) throw new EditError({ path, problem: 'a patch does not remove files; use shell_exec with rm' })
  if (from !== undefined && from !== to) {
    throw new EditError({ path: from, problem: 'a patch does not rename files; use shell_exec with mv' })
  }
  return {
    path,
    isNew: from === undefined,
    apply(text) {
      const patched = applyPatch(text, patch, { fuzzFactor: FUZZ, autoConvertLineEndings: true })
      if (patched !== false) return patched
      throw new EditError({
        path,
        problem: `a hunk does not match the file; read the file again, or use file_edit${placeOf(text, patch)}`,
      })
    },
  }
}

/** Returns a file's name without git's prefixes `a/` and `b/`. */
function nameOf(name: string | undefined): string | undefined {
  if (!name || name === '/dev/null') return undefined
  return name.replace(/^[ab]\//, '')
}

/** Returns the lines closest to the first hunk that does not match. */
function placeOf(text: string, patch: StructuredPatch): string {
  const hunk = patch.hunks.find(each => applyPatch(text, { ...patch, hunks: [each] }, { fuzzFactor: FUZZ }) === false)
  const old = hunk?.lines.filter(line => !/^[+\\]/.test(line)).map(line => line.slice(1))
  const near = old && nearest(text, old.join('\n'))
  return near ? `. The closest lines are\n${near}` : ''
}
