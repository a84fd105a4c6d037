import { everyOther } from './worlds.ts'

everyOther(0)
