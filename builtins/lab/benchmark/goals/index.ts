import type { z } from '#kernel'
import type { Scenario } from '../contract.ts'
import { DATA } from './data.ts'
import { DECIDE } from './decide.ts'
import { EXTEND } from './extend.ts'
import { FIND } from './find.ts'
import { FIX } from './fix.ts'
import { workGoal } from './kit.ts'
import { REFACTOR } from './refactor.ts'
import { REPORT } from './report.ts'
import { REVIEW } from './review.ts'
import { WATCH } from './watch.ts'
import { WRITE } from './write.ts'

const CATEGORIES = {
  fix: FIX,
  extend: EXTEND,
  refactor: REFACTOR,
  find: FIND,
  report: REPORT,
  data: DATA,
  review: REVIEW,
  write: WRITE,
  watch: WATCH,
  decide: DECIDE,
}

/** The suite of work goals, by category. */
export const WORK_GOALS: readonly z.input<typeof Scenario>[] = Object.entries(CATEGORIES).flatMap(([category, goals]) =>
  goals.map(goal => workGoal(category, goal)),
)
