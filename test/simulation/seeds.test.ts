import { runSeeds } from './run-seeds.ts'

/** A part of what `npm run test:trials` simulates: each level of faults, and some recorded runs. */
const SEEDS = 30

runSeeds(Array.from({ length: SEEDS }, (_, n) => n + 1))
