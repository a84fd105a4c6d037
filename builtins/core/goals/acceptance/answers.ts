import type { PluginHandle } from '#kernel'
import { Store } from '#platform/store/contract'
import type { Reach } from '#safety/sandbox/contract'
import { evidenceFile } from './claims.ts'
import { hasSucceeded } from './repository.ts'

/** Endings of files that agents write. Names such as Node.js and example.com are no files. */
const WRITTEN =
  /\w\.(?:md|txt|csv|tsv|json|ya?ml|toml|xml|html?|css|sql|py|sh|tsx?|jsx|rb|go|rs|java|log|pdf|docx?|xlsx?|png|jpe?g|svg)$/i
const LONGEST_NAME = 200
const MOST_NAMES = 10

/** Returns the files that an answer names and that do not exist, so that it cannot be true. */
export async function missingFiles(svc: PluginHandle, goal_id: string, text: string, reach: Reach): Promise<string[]> {
  const missing: string[] = []
  for (const file of filesIn(text)) {
    // A file that a call has named may be in another folder, or be gone again.
    const isKnown =
      (await evidenceFile(svc, reach, file)) !== undefined || (await hasSucceeded(svc.use(Store), goal_id, file))
    if (!isKnown) missing.push(file)
  }
  return missing
}

/** Returns the file names in a text. */
function filesIn(text: string): string[] {
  const words = (text.match(/[\w.~/:-]+/g) ?? []).filter(word => word.length <= LONGEST_NAME)
  const names = words.map(word => word.replace(/[.:]+$/, '')).filter(name => WRITTEN.test(name))
  return [...new Set(names)].filter(name => !/:\/\/|^www\./.test(name)).slice(0, MOST_NAMES)
}
