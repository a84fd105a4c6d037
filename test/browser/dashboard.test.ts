import { afterAll } from 'vitest'
import { closeBrowser } from './browser.ts'
// What an operator does at the dashboard, by one browser, one after the other.
import './dashboard/visit.ts'
import './dashboard/approvals.ts'
import './dashboard/settings.ts'
import './dashboard/hostile.ts'
// What its pages show, to whom, and of how many.
import './dashboard/agent.ts'
import './dashboard/images.ts'
import './dashboard/society.ts'
import './dashboard/readers.ts'
import './dashboard/fleet.ts'
import './dashboard/thousand.ts'
import './dashboard/trace.ts'
import './dashboard/worktree.ts'

afterAll(closeBrowser)
