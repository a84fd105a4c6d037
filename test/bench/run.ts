import { measure } from './cycles.ts'
import { guardrails } from './guardrails.ts'
import { requests } from './http.ts'
import { memory } from './memory.ts'
import { prompts } from './prompts.ts'
import { recording } from './recording.ts'
import { repair } from './repair.ts'
import { streams } from './streams.ts'
import { nudgeToCycle } from './waking.ts'

/** Rates stand beside a bare loop's of the same run: on a noisy machine only the ratio means something. */
const ROUNDS = 3

console.log('agent-cycles per second, with an instant in-process model, against a bare loop that commits the same rows')
console.log('agents   cycles/s   bare/s   ratio   transactions a cycle')
for (const agents of [10, 100, 1000]) {
  const rounds = []
  for (let round = 0; round < ROUNDS; round++) rounds.push(await measure(agents, 3000))
  const best = rounds.sort((a, b) => b.ratio - a.ratio)[Math.floor(ROUNDS / 2)]
  if (!best) continue
  const cells = [
    agents,
    best.rate.toFixed(0),
    best.bare.toFixed(0),
    best.ratio.toFixed(2),
    best.transactions.toFixed(2),
  ]
  console.log(cells.map((cell, n) => String(cell).padStart([6, 11, 9, 8, 12][n] ?? 8)).join(''))
}

await prompts()
repair()
await guardrails()
await memory()
await recording()
await nudgeToCycle()
await requests()
await streams()
