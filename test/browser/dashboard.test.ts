import { afterAll } from 'vitest'
import { closeBrowser } from './browser.ts'
// Actions of an operator at the dashboard, in one browser, one after the other.
import './dashboard/visit.ts'
import './dashboard/approvals.ts'
import './dashboard/settings.ts'
import './dashboard/hostile.ts'
// Content of the pages, for different readers and amounts of data.
import './dashboard/agent.ts'
import './dashboard/images.ts'
import './dashboard/society.ts'
import './dashboard/readers.ts'
import './dashboard/fleet.ts'
import './dashboard/thousand.ts'
import './dashboard/trace.ts'
import './dashboard/worktree.ts'

afterAll(closeBrowser)
