import type { Profile } from '#core/profiles/contract'
import { FIND_TOOLS, FINISH_GOAL, Runtime } from '#core/runtime/contract'
import type { PluginHandle } from '#kernel'
import { Store } from '#platform/store/contract'
import type { Reach } from '#safety/sandbox/contract'
import { UPDATE_PLAN } from '../pursuit/plan.ts'
import { exists } from './claims.ts'
import { hasSucceeded } from './repository.ts'

/** Tools that only prepare or end the work on a goal. */
const NO_WORK = [FINISH_GOAL, FIND_TOOLS, UPDATE_PLAN]
/** Endings of files that agents write. Names such as Node.js and example.com are no files. */
const WRITTEN =
  /\w\.(?:md|txt|csv|tsv|json|ya?ml|toml|xml|html?|css|sql|py|sh|tsx?|jsx|rb|go|rs|java|log|pdf|docx?|xlsx?|png|jpe?g|svg)$/i
const LONGEST_NAME = 200
const MOST_NAMES = 10

/** Returns why the answer of an agent that did not call `finish_goal` does not show that its goal is reached. */
export async function untrueAnswer(
  svc: PluginHandle,
  { goal_id, profile, text, reach }: { goal_id: string; profile: Profile; text: string; reach: Reach },
): Promise<{ isUndone: boolean; missing: string[] }> {
  const store = svc.use(Store)
  const works = svc
    .use(Runtime)
    .toolsFor(profile)
    .names.some(name => !NO_WORK.includes(name))
  const isUndone = works && !(await hasSucceeded(store, goal_id, NO_WORK))
  const missing: string[] = []
  for (const file of filesIn(text)) {
    // A file that a call has named may be in another folder, or be gone again.
    const isKnown = (await exists(svc, reach, file)) || (await hasSucceeded(store, goal_id, NO_WORK, file))
    if (!isKnown) missing.push(file)
  }
  return { isUndone, missing }
}

/** Returns the file names in a text. */
function filesIn(text: string): string[] {
  const words = (text.match(/[\w.~/:-]+/g) ?? []).filter(word => word.length <= LONGEST_NAME)
  const names = words.map(word => word.replace(/[.:]+$/, '')).filter(name => WRITTEN.test(name))
  return [...new Set(names)].filter(name => !/:\/\/|^www\./.test(name)).slice(0, MOST_NAMES)
}
