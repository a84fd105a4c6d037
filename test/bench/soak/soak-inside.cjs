// Writes into a file, from inside the process:
// - once a second how late the event loop was, as the clock on the wall has it, and as far as the loop itself was at work, which
//   is what it would be on a machine that has nothing else to do. SIGUSR2 begins anew.
// - at a SIGWINCH what memory is taken once all has been collected and forgotten, as at the rests that the service takes by
//   itself (builtins/interfaces/cli/process/memory.ts), but for V8's space for what is new, which swings.
const { openSync, readSync, writeFileSync } = require('node:fs')
const { createHistogram } = require('node:perf_hooks')
const { getHeapSpaceStatistics, setFlagsFromString } = require('node:v8')
const { runInNewContext } = require('node:vm')
const { isMainThread } = require('node:worker_threads')

const EVERY_MS = 20
const GIVEN_BACK_MS = 2_000
const THOROUGH = ['compact-on-every-full-gc', 'stress-flush-code', 'flush-baseline-code']
const file = process.env.SVC_SOAK_INSIDE
if (file && isMainThread) {
  const [wall, own] = [createHistogram(), createHistogram()]
  process.on('SIGUSR2', () => {
    wall.reset()
    own.reset()
  })
  // Nanoseconds on a processor: https://docs.kernel.org/scheduler/sched-stats.html. Into the same bytes each time: a file of
  // unknown length is read into 64 KiB, and fifty of those a second would be part of the memory that is measured.
  const stat = openSync('/proc/thread-self/schedstat')
  const bytes = Buffer.alloc(64)
  const worked = () => Number.parseInt(bytes.latin1Slice(0, readSync(stat, bytes, 0, bytes.length, 0)), 10) / 1e6
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
  const figures = histogram => ({ p99: histogram.percentile(99) / 1000, max: histogram.max / 1000 })
  const memory = { looks: 0, bytes: 0 }
  const report = () => writeFileSync(file, JSON.stringify({ wall: figures(wall), own: figures(own), memory }))
  setInterval(report, 1000).unref()

  process.on('SIGWINCH', () => {
    for (const flag of ['expose-gc', ...THOROUGH]) setFlagsFromString(`--${flag}`)
    runInNewContext('gc')()
    for (const flag of ['expose-gc', ...THOROUGH]) setFlagsFromString(`--no-${flag}`)
    // Pages that are empty now are given back beside the program.
    setTimeout(() => {
      const { physical_space_size } = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
      memory.bytes = process.memoryUsage.rss() - physical_space_size
      memory.looks++
      report()
    }, GIVEN_BACK_MS).unref()
    // This was no work of the loop's.
    due = performance.now() + EVERY_MS
    before = worked()
  })
}
