import { contextSoak } from '../../faults/soaks/context-soak.ts'

/** `npm run soak:context -- [goals] [seed]`: goals in a window of 8k, with the service stopped and killed at random moments. */
const [goals = '500', seed] = process.argv.slice(2)
const logRestart = (restarts: number, left: number) => {
  if (restarts % 10 === 0) console.log(`${restarts} restarts, ${left} goals left`)
}
const report = await contextSoak({
  goals: Number(goals),
  onRestart: logRestart,
  ...(seed === undefined ? {} : { seed: Number(seed) }),
})
const { refused, lost, restarts, kills } = report
const rows = [
  ['seed', report.seed],
  ['goals', `${report.goals}, ${report.requests} requests`],
  ['restarts', `${restarts}, ${kills} of them kills`],
  ['room was made', `${report.compactions} times`],
  ['facts', `${report.rereads} were read again`],
  ['refused', refused.length],
  ['lost', lost.length],
]
for (const [name, value] of rows) console.log(String(name).padEnd(16) + value)
for (const line of [...refused, ...lost].slice(0, 10)) console.error(line)
const isKept = refused.length + lost.length === 0
console.log(isKept ? 'all bounds are kept' : 'a bound is broken')
process.exit(isKept ? 0 : 1)
