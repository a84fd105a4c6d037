import { afterAll } from 'vitest'
import { closeBrowser } from './dashboard/house.ts'
// What its pages show, to whom, and of how many.
import './dashboard/agent.ts'
import './dashboard/society.ts'
import './dashboard/readers.ts'
import './dashboard/thousand.ts'

afterAll(closeBrowser)
