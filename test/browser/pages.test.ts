import { afterAll } from 'vitest'
import { closeBrowser } from './browser.ts'

// Content of the dashboard's pages, for different readers and amounts of data.
import './dashboard/agent.ts'
import './dashboard/folder-changes.ts'
import './dashboard/images.ts'
import './dashboard/last-visit.ts'
import './dashboard/society.ts'
import './dashboard/worktree.ts'

afterAll(closeBrowser)
