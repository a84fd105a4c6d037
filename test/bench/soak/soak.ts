import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import Sqlite from 'better-sqlite3'
import { age } from './soak-aging.ts'
import { brokenBill, brokenIn, leftBehind, lookAt, progressOfAll, standing } from './soak-checks.ts'
import { SoakPeople } from './soak-operators.ts'
import { UNSTEADY } from './soak-plugin.ts'
import { CONFIG, SoakedProject } from './soak-project.ts'
import { REMOVED, removeFiles } from './soak-removed.ts'
import { SoakWatch } from './soak-watch.ts'

const HELP = `npm run soak -- [--minutes 30] [--seed <n>]

A service with eight agents at a heartbeat of ${CONFIG.daemon.heartbeat} s, in a process of its own: its model fails, answers with thousands of tool calls, or refuses
every request for a while, its tools fail and hang, one of its plugins is edited all the time, its database's files are removed and put back, operators are busy, and what is older than a minute is dated back so that retention has
work. For the first minutes the operators do several times as much, and no one holds on to a state of the database; then someone
does for two seconds of twelve. It ends with 1 when memory, the write-ahead log, open files, the event log or the event loop pass
their bounds, or a promise is broken.`

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '30' }, seed: { type: 'string' }, help: { type: 'boolean' } },
})
if (values.help) {
  console.log(HELP)
  process.exit()
}

/** Time for which a snapshot of the database is kept open, repeatedly, in milliseconds. */
const HELD_MS = 2_000
/** Time that a stop may take beyond its grace period, for checkpoints and the exit, in milliseconds. */
const STOP_MS = 4_000
/** Time within which every agent must make progress, even on a busy machine, in milliseconds. */
const PATIENCE_MS = 60_000
/** Limits. Events: those that are always kept, and as many that are too young to be dated back. */
const BOUNDS = { wal: 16, growth: 1, p99: 50, max: 250, events: 20_000 }

const ms = (value: number) => `${value.toFixed(0)} ms`
const mib = (value: number) => `${value.toFixed(2)} MiB`
const times = (found: Record<string, number>) =>
  Object.entries(found)
    .map(([what, n]) => `${n} ${what}`)
    .join(', ')

const minutes = Number(values.minutes)
const seed = Number(values.seed ?? randomInt(2 ** 31))
const length = minutes * 60_000
/**
 * Time after which memory is judged: by then everything was used and compiled. Until shortly before, operators do more
 * than later.
 */
const warm = Math.min(300_000, length / 2)
const EAGER = { share: 0.8, heartbeat: 0.05, times: 5 }
const faults: string[] = []
const reportFaults = (...sentences: readonly string[]) => {
  faults.push(...sentences)
  for (const sentence of sentences) console.log(`! ${sentence}`)
}
console.log(`seed ${seed}, ${minutes} minutes`)

await using project = await SoakedProject.open(seed)
const db = new Sqlite(project.database, { readonly: true, timeout: 5_000 })
const writer = new Sqlite(project.database, { timeout: 5_000 })
const people = new SoakPeople(project, db, seed)
const watch = new SoakWatch(project)
const over = new AbortController()
const { signal } = over
await beEager()
const work = [people.work(signal), watch.watch(signal), editing(), holding(), emitEvents()]
const aging = age(writer, signal)

const rests: Rest[] = []
const between = Math.min(150_000, length / 6)
for (let at = between; at <= length; at += between) {
  await sleep(Math.max(0, at - watch.elapsed))
  const found = await rest()
  rests.push(found)
  console.log(`${(found.at / 60_000).toFixed(1)} min, ${found.open.all} files open, ${mib(found.rss)}`)
}
await calmDown()
over.abort()
await Promise.all(work)
const aged = await aging
const bill = await project.modelReport()
const lag = await project.processReport()
const counted = await readMetrics()
writer.close()
db.close()

const stopping = performance.now()
const code = await project.svc.end('SIGTERM')
const stopped = performance.now() - stopping
if (code !== 0) reportFaults(`The service ended with ${code}.`)
listen()
const after = new Sqlite(project.database, { readonly: true })
reportFaults(...leftBehind(after), ...brokenBill(after, bill), ...people.broken)
after.close()

const atRest = rests.filter(({ at }) => at >= warm)
const growth = watch.growth('rss', atRest)
const atWork = watch.leasts('rss', warm)
const heaps = watch.leasts('heap', warm)
const [first = {}, ...others] = rests.map(({ open }) => open)
const differ = others.filter(each => JSON.stringify(each) !== JSON.stringify(first))
const rows: [name: string, value: string, kept?: boolean][] = [
  ['cycles', times(counted.cycles)],
  ['model calls', `${bill.requests}; ${times(bill.faults)}`],
  ['tool calls', `${counted.tools}, ${counted.toolsFailed} failed`],
  [
    'operators',
    `${people.counts.acts} acts; ${times(people.counts.refused)}; ${people.counts.streamed} events in ${people.counts.streams} streams`,
  ],
  ['plugin edits', `${project.version}`],
  ['retention', `${aged} rows dated back, ${counted.events} events left`, counted.events <= BOUNDS.events],
  ['write-ahead log', `at most ${mib(watch.wal)}`, watch.wal <= BOUNDS.wal],
  [
    'memory',
    `at rest ${mib(atRest.at(-1)!.rss)}, ${mib(growth)} more in 10 min; at work ${mib(atWork.at(-1)!.rss)}, ${mib(watch.growth('rss', atWork))} more; heap ${mib(heaps.at(-1)!.heap)}, ${mib(watch.growth('heap', heaps))} more`,
    growth <= BOUNDS.growth,
  ],
  ['files at rest', `${times(first)}`, differ.length === 0],
  [
    'loop, wall',
    `p99 ${ms(lag.wall.p99)}, longest ${ms(lag.wall.max)}; as reported: p99 ${ms(watch.metric.p99)}, longest ${ms(watch.metric.max)}`,
  ],
  [
    'loop, its own',
    `p99 ${ms(lag.own.p99)}, longest ${ms(lag.own.max)}`,
    lag.own.p99 < BOUNDS.p99 && lag.own.max < BOUNDS.max,
  ],
  ['stop', ms(stopped), code === 0 && stopped <= CONFIG.daemon.stop_grace * 1000 + STOP_MS],
  ['promises', `${faults.length} broken`, faults.length === 0],
]
for (const [name, value, kept] of rows) console.log(`${name.padEnd(17)}${kept === false ? '! ' : ''}${value}`)
for (const each of differ) console.error(`files at another rest: ${times(each)}`)
const kept = rows.every(([, , kept]) => kept !== false)
console.log(kept ? 'all bounds are kept' : 'a bound is broken')
process.exitCode = kept ? 0 : 1

/**
 * Makes the operators eager at first: memory grows with the most concurrent work, which must not happen late and by
 * chance.
 */
async function beEager(): Promise<void> {
  const setHeartbeat = (heartbeat: number) => project.client.config.patch({ daemon: { heartbeat } })
  people.eager = true
  await setHeartbeat(EAGER.heartbeat)
  setTimeout(() => {
    people.eager = false
    setHeartbeat(CONFIG.daemon.heartbeat).catch(error => reportFaults(`The heartbeat was not changed: ${error}`))
  }, warm * EAGER.share)
}

/** Edits the plugin repeatedly until the soak ends. */
async function editing(): Promise<void> {
  for (;;) {
    const pace = Math.min(60_000, length / 10) / (people.eager ? EAGER.times : 1)
    await sleep(pace, undefined, { signal }).catch(() => {})
    if (signal.aborted) return
    await project.edit()
  }
}

/** Keeps a snapshot of the database open repeatedly, each time for as long as a report takes. */
async function holding(): Promise<void> {
  const reader = new Sqlite(project.database, { readonly: true, timeout: 5_000 })
  await sleep(warm * EAGER.share, undefined, { signal }).catch(() => {})
  while (!signal.aborted) {
    reader.exec('BEGIN')
    reader.prepare('SELECT count(*) FROM events').get()
    await sleep(HELD_MS)
    reader.exec('COMMIT')
    await sleep(HELD_MS * 5, undefined, { signal }).catch(() => {})
  }
  reader.close()
}

async function emitEvents(): Promise<void> {
  while (!signal.aborted) {
    listen()
    await sleep(5_000, undefined, { signal }).catch(() => {})
  }
}

/** Reports logged errors as faults, except those of the unsteady plugin and of removed files. */
function listen(): void {
  for (const line of project.errors()) {
    if (line.plugin !== UNSTEADY && !REMOVED.test(JSON.stringify(line)))
      reportFaults(`It logged: ${JSON.stringify(line).slice(0, 500)}`)
  }
}

/** Open files of the frozen service, and its memory after a garbage collection, in mebibytes. */
interface Rest {
  at: number
  rss: number
  open: Record<string, number>
}

/**
 * Freezes the service, checks its open files, its memory and its data, and resumes it. Memory is compared between
 * rests: at work it varies by some thirty mebibytes that V8 has not collected yet.
 */
async function rest(): Promise<Rest> {
  watch.resting = true
  await people.rest()
  await project.client.daemon.pause()
  let open = await project.open()
  let calm = performance.now()
  const size = () => Object.values(open).reduce((sum, n) => sum + n, 0)
  for (const began = performance.now(); performance.now() - began < 40_000 && performance.now() - calm < 8_000; ) {
    await sleep(500)
    const before = JSON.stringify(open)
    open = await project.open()
    if (JSON.stringify(open) !== before) calm = performance.now()
  }
  const taken = { at: watch.elapsed, rss: await project.memory() }
  reportFaults(...(await brokenIn({ db, root: project.root, people })))
  reportFaults(...(await removeFiles(project, db)))
  await project.client.daemon.resume()
  people.goOn()
  watch.resting = false
  return { ...taken, open: { ...open, all: size() } }
}

/** Ends all failures, and checks that agents with goals make progress. */
async function calmDown(): Promise<void> {
  const look = lookAt(db)
  project.sendToModel('calm')
  people.letGo()
  const before = progressOfAll(look)
  const deadline = performance.now() + PATIENCE_MS
  while (standing(look, before).length > 0 && performance.now() < deadline) await sleep(500)
  reportFaults(...standing(look, before))
}

/** Returns what the service has counted of its work. */
async function readMetrics() {
  const text = String(await project.client.metrics.get())
  const all = (name: string) => [...text.matchAll(new RegExp(`^${name}(?:\\{(.*)\\})? (\\S+)$`, 'gm'))]
  const sum = (name: string) => all(name).reduce((sum, [, , value]) => sum + Number(value), 0)
  return {
    cycles: Object.fromEntries(all('svc_cycles_total').map(([, labels = '', value]) => [labels, Number(value)])),
    tools: sum('svc_tool_calls_total'),
    toolsFailed: sum('svc_tool_failures_total'),
    events: Number(db.prepare('SELECT count(*) FROM events').pluck().get()),
  }
}
