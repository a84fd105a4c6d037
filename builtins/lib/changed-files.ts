import { z } from '#kernel'
import { columns } from './columns.ts'

/** A file that differs between two states. */
export const ChangedFile = z.object({
  path: z.string(),
  status: z.enum(['added', 'changed', 'removed']),
  added: z.int().nullable().describe('Number of added lines; null for a binary file'),
  removed: z.int().nullable(),
})
export type ChangedFile = z.infer<typeof ChangedFile>

/** Options of `git diff` for output that settings and programs of a repository do not change. */
export const PLAIN_DIFF = ['--no-ext-diff', '--no-textconv', '--no-color', '--no-renames']

const STATUS: Record<string, ChangedFile['status']> = { A: 'added', D: 'removed', M: 'changed' }

/**
 * Returns the files that differ between two states.
 * @param diff runs `git diff` with these options, and returns its output
 */
export async function changedFiles(diff: (...options: string[]) => Promise<string>): Promise<ChangedFile[]> {
  const names = (await diff('--name-status', '-z')).split('\0')
  const status = new Map(names.flatMap((name, n) => (n % 2 === 1 ? [[name, names[n - 1]!] as const] : [])))
  const counted = (await diff('--numstat', '-z')).split('\0').filter(Boolean)
  const lines = (text: string) => (text === '-' ? null : Number(text))
  return counted.map(line => {
    const [added = '', removed = '', ...rest] = line.split('\t')
    const path = rest.join('\t')
    return { path, status: STATUS[status.get(path) ?? 'M'] ?? 'changed', added: lines(added), removed: lines(removed) }
  })
}

/** Returns a line for each changed file, with its numbers of lines. */
export function changedLines(files: readonly ChangedFile[]): string[] {
  return columns(
    files.map(({ path, status, added, removed }) => [
      `  ${status}`,
      added === null ? 'binary' : `+${added} -${removed}`,
      path,
    ]),
  )
}
