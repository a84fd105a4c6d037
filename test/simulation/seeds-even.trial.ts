import { everyOther } from './many-seeds.ts'
import { runSeeds } from './run-seeds.ts'

runSeeds(everyOther(0))
