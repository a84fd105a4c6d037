import { afterAll } from 'vitest'
import { closeBrowser } from './browser.ts'

// Tests what is served or written for browsers beside the dashboard, and attacks on it, in one browser.
import './served/docs.ts'
import './served/export.ts'
import './served/attacks.ts'

afterAll(closeBrowser)
