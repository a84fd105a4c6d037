import { join } from 'node:path'
import type { Context } from '../context.ts'
import { findProject } from '../project/project.ts'
import { lineMasker } from '../project/secrets.ts'
import { printableLine } from '../screen/printable.ts'
import { complete } from './complete.ts'
import { valuesOf } from './values.ts'

/** Output that requests file name completion from the shell. */
const FILES = ':files'

/**
 * Answers a shell's completion request: a line for each candidate, with a tab before its description. Reports no
 * errors, because it runs while the user types.
 */
export async function answer(words: readonly string[], context: Context): Promise<number> {
  const at = words.indexOf('--root')
  const named = at >= 0 ? words[at + 1] : context.named
  const root = await findProject(context.ports, named).catch(() => undefined)
  const values = valuesOf(root, join(context.program.packageRoot, 'profiles'), context)
  const candidates = await complete(words, context.commands, values).catch(() => [])
  if (!candidates) context.terminal.out(FILES)
  else {
    const mask = root ? await lineMasker(root, context.ports) : (line: string) => line
    const lines = candidates
      // Words that need quoting would change their meaning when inserted.
      .filter(({ word }) => /^[\w@%+=:,./-]+$/.test(word))
      .map(({ word, about }) => (about ? `${word}\t${printableLine(mask(about)).slice(0, 80)}` : word))
    context.terminal.out(lines.join('\n'))
  }
  return 0
}
