import type { DetectiveCase } from '../contract.ts'
import { lighthouse } from './lighthouse.ts'
import { manuscript } from './manuscript.ts'
import { orchids } from './orchids.ts'

/** The cases that there are without plugins; the first is played unless another is named. */
export const BUILT_IN: readonly DetectiveCase[] = [manuscript, lighthouse, orchids]
