/** `npm run soak:reloads -- [reloads]`: a plugin that is reloaded again and again under requests, events and cycles. */
import { soak } from '../process/reload.ts'

const reloads = Number(process.argv[2] ?? 1000)
const f = await soak({ reloads, warmUp: Math.min(300, reloads) })
const rows = [
  ['reloads', `${f.reloads} in ${f.seconds.toFixed(0)} s`],
  [
    'requests',
    `${f.requests.answered} at ${f.rate.toFixed(0)}/s, ${f.failed.length} failed, ${f.requests.counted} counted`,
  ],
  ['their latency', `p99 ${f.requests.p99_ms.toFixed(0)} ms, longest ${f.requests.max_ms.toFixed(0)} ms`],
  [
    'events',
    `${f.events.emitted} emitted, ${f.events.counted} counted, ${f.events.missed} missed, ${f.events.doubled} doubled`,
  ],
  ['tool calls', `${f.notes.committed} committed, ${f.notes.counted} counted, ${f.notes.failed} failed`],
  ['cycles', `${f.cycles.ended}, ${f.cycles.failed} failed`],
  ['swap', `p50 ${f.swap.p50_ms} ms, p99 ${f.swap.p99_ms} ms, longest ${f.swap.max_ms} ms`],
  ['event loop', `longest time without a turn ${f.lag_ms.toFixed(0)} ms`],
  ['heap', `${f.heap_mib.toFixed(1)} MiB larger`],
  ['process', `${f.rss_mib.toFixed(1)} MiB larger`],
  ['resources open', String(f.open)],
  ['errors logged', String(f.errors.length)],
]
for (const [name = '', value = ''] of rows) console.log(name.padEnd(16) + value)
for (const line of [...new Set([...f.failed, ...f.errors])].slice(0, 10)) console.error(line.trim())
const lost =
  f.requests.counted - f.requests.answered || f.events.counted - f.events.emitted || f.notes.counted - f.notes.committed
const failed = f.failed.length + f.errors.length + f.events.missed + f.events.doubled + f.notes.failed + f.cycles.failed
const kept = !lost && !failed && f.open === 1 && f.swap.p99_ms < 100 && f.heap_mib <= 10 && f.rss_mib <= 60
console.log(kept ? 'all bounds are kept' : 'a bound is broken')
process.exit(kept ? 0 : 1)
