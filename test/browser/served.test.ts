import { afterAll } from 'vitest'
import { closeBrowser } from './browser.ts'
// What is served or written for browsers beside the dashboard, and who must not use it: one browser for all.
import './served/docs.ts'
import './served/export.ts'
import './served/attacks.ts'

afterAll(closeBrowser)
