import { afterAll } from 'vitest'
import { closeBrowser } from './browser.ts'

// Actions of an operator at the dashboard, in one browser, one after the other.
import './dashboard/visit.ts'
import './dashboard/approvals.ts'
import './dashboard/settings.ts'
import './dashboard/hostile.ts'

afterAll(closeBrowser)
