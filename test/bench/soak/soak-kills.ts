import { killLoop } from '../../faults/kills/kill-loop.ts'

/** `npm run soak:kills -- [kills] [seed]`: a daemon that is killed at random moments during writes to it. */
const [kills = '60', seed] = process.argv.slice(2)
const logKill = (kill: number) => {
  if (kill % 10 === 0) console.log(`${kill} kills`)
}
const report = await killLoop({
  kills: Number(kills),
  onKill: logKill,
  ...(seed === undefined ? {} : { seed: Number(seed) }),
})
const rows = [
  ['seed', String(report.seed)],
  ['kills', String(report.kills)],
  ['acknowledged', `${report.acknowledged}, ${report.lost.length} lost`],
  ['invariants', `${report.broken.length} broken`],
  ['goals', `${report.stuck.length} stuck`],
  ['time to ready', `p95 ${report.ready_p95_ms} ms`],
]
for (const [name = '', value = ''] of rows) console.log(name.padEnd(16) + value)
for (const line of [...report.lost, ...report.broken].slice(0, 10)) console.error(line)
const kept = report.lost.length + report.broken.length + report.stuck.length === 0
console.log(kept ? 'all bounds are kept' : 'a bound is broken')
process.exit(kept ? 0 : 1)
