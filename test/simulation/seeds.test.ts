import { runSeeds } from './run-seeds.ts'

/** Some of those that `npm run test:trials` simulates: each level of faults, and some that are recorded. */
const SEEDS = 90

runSeeds(Array.from({ length: SEEDS }, (_, n) => n + 1))
