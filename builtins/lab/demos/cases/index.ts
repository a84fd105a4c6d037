import type { DetectiveCase } from '../contract.ts'
import { lighthouse } from './lighthouse.ts'
import { manuscript } from './manuscript.ts'
import { orchids } from './orchids.ts'

/** Built-in cases; the first is played by default. */
export const BUILT_IN: readonly DetectiveCase[] = [manuscript, lighthouse, orchids]
