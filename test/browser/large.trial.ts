import { afterAll } from 'vitest'
import { closeBrowser } from './browser.ts'

// Pages with much data.
import './dashboard/fleet.ts'
import './dashboard/thousand.ts'
import './dashboard/trace.ts'

afterAll(closeBrowser)
