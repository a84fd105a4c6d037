import { afterAll } from 'vitest'
import { closeBrowser } from './browser.ts'

// Pages with much data, and the explorers of the API.
import './dashboard/fleet.ts'
import './dashboard/thousand.ts'
import './dashboard/trace.ts'
import './served/docs.ts'

afterAll(closeBrowser)
