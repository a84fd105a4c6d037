import { idleLag } from '../measures.ts'
import { type Row, row } from '../row.ts'
import { soak } from './reload.ts'

const RATE = 500

/** Reloads a plugin under requests, events and cycles: the short form of `npm run soak:reloads`. */
export async function swaps(): Promise<Row[]> {
  const idle = await idleLag()
  const found = await soak({ reloads: 60, warmUp: 30, rate: RATE })
  const unclear = `a process that does nothing is up to ${idle.max.toFixed(0)} ms late on this machine`
  const { requests, events, notes, cycles, swap } = found
  const lost =
    found.failed.length +
    cycles.failed +
    notes.failed +
    events.missed +
    events.doubled +
    Math.abs(requests.counted - requests.answered) +
    Math.abs(notes.counted - notes.committed)
  return [
    row({
      what: `plugin swap under ${RATE} requests a second on the wall, p99`,
      figure: swap.p99_ms,
      unit: 'ms',
      baseline: idle.p99,
      aim: { atMost: 100 },
      unclear,
      note: `${requests.answered} requests at ${found.rate.toFixed(0)}/s, ${found.reloads} swaps`,
    }),
    row({ what: 'calls, events and cycles lost or doubled in swaps', figure: lost, unit: '', aim: { atMost: 0 } }),
    row({
      what: `heap after ${found.reloads} swaps, more than before`,
      figure: found.heap_mib,
      unit: 'MB',
      aim: { atMost: 10 },
      note: 'a thousand swaps are `npm run soak:reloads`',
    }),
    row({
      what: `resident memory after ${found.reloads} swaps, more than before`,
      figure: found.rss_mib,
      unit: 'MB',
      aim: { atMost: 60 },
    }),
  ]
}
