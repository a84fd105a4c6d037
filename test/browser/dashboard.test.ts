import { afterAll } from 'vitest'
import { closeBrowser } from './dashboard/house.ts'
// What an operator does at the dashboard, by one browser, one after the other.
import './dashboard/visit.ts'
import './dashboard/approvals.ts'
import './dashboard/settings.ts'
import './dashboard/hostile.ts'

afterAll(closeBrowser)
