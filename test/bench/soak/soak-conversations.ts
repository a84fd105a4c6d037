import { randomInt } from 'node:crypto'
import { conversationSoak } from '../../faults/soaks/conversation-soak.ts'

/**
 * `npm run soak:conversations -- [requests] [seed]`: pursuits with random answers against servers that reject requests
 * as real ones do.
 */
const [requests = '20000', seed = String(randomInt(2 ** 31))] = process.argv.slice(2)
const report = await conversationSoak({ requests: Number(requests), seed: Number(seed) })
console.log(`seed            ${report.seed}`)
console.log(`requests        ${report.requests}, ${report.refused.length} refused`)
for (const [what, n] of Object.entries(report.counts)) console.log(what.padEnd(32) + n)
for (const line of report.refused.slice(0, 10)) console.error(line)
process.exit(report.refused.length + report.empty === 0 ? 0 : 1)
