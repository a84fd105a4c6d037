// Tells once a second how late the event loop was, into a file: as the clock on the wall has it, and as far as the loop itself
// was at work, which is what it would be on a machine that has nothing else to do. SIGUSR2 begins anew.
const { readFileSync, writeFileSync } = require('node:fs')
const { createHistogram } = require('node:perf_hooks')
const { isMainThread } = require('node:worker_threads')

const EVERY_MS = 20
const file = process.env.SVC_SOAK_LAG
if (file && isMainThread) {
  const [wall, own] = [createHistogram(), createHistogram()]
  process.on('SIGUSR2', () => {
    wall.reset()
    own.reset()
  })
  // Nanoseconds on a processor: https://docs.kernel.org/scheduler/sched-stats.html
  const worked = () => Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[0]) / 1e6
  let due = performance.now() + EVERY_MS
  let before = worked()
  const look = () => {
    const late = Math.max(0, performance.now() - due)
    const now = worked()
    // A histogram holds whole numbers from 1: microseconds.
    wall.record(1 + Math.round(late * 1000))
    own.record(1 + Math.round(Math.min(late, now - before) * 1000))
    before = now
    due = performance.now() + EVERY_MS
    setTimeout(look, EVERY_MS).unref()
  }
  setTimeout(look, EVERY_MS).unref()
  const told = histogram => ({ p99: histogram.percentile(99) / 1000, max: histogram.max / 1000 })
  setInterval(() => writeFileSync(file, JSON.stringify({ wall: told(wall), own: told(own) })), 1000).unref()
}
