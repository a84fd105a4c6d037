import { afterAll } from 'vitest'
import { closeBrowser } from './browser.ts'

// Pages with much data, and pages for keyboards and screen readers.
import './dashboard/fleet.ts'
import './dashboard/readers.ts'
import './dashboard/thousand.ts'
import './dashboard/trace.ts'

afterAll(closeBrowser)
