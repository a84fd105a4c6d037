import { everyOther } from './run-seeds.ts'

everyOther(1)
