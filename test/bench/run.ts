import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import type { Row } from './row.ts'
import { compareReports, makeReport, type Report, table } from './table.ts'

const HELP = `npm run bench -- [subject]… [--json <file>] [--compare <file>]

Measures what svc costs, beside a bare baseline of the same run, and prints one table; a row that missed its aim ends it
with code 1. Times are processor time where the row does not say otherwise: only that and ratios mean something on a busy
machine. What could not be measured cleanly has a question mark, and says why.

--json <file>     where the figures go (logs/bench.json by default)
--compare <file>  prints the change of each row since such a file was written
--list            the subjects`

/** Benchmarks by name, each in its own file. */
const SUBJECTS: Readonly<Record<string, () => Promise<() => Promise<Row[]>>>> = {
  cycles: async () => (await import('./agents/cycles.ts')).cycles,
  turn: async () => (await import('./agents/turn.ts')).turn,
  turns: async () => (await import('./agents/turns.ts')).turns,
  tasks: async () => (await import('./agents/tasks.ts')).tasks,
  start: async () => (await import('./process/start.ts')).start,
  stop: async () => (await import('./process/stop.ts')).stop,
  idle: async () => (await import('./process/idle.ts')).idle,
  nudges: async () => (await import('./agents/nudges.ts')).nudges,
  tokens: async () => (await import('./agents/tokens.ts')).tokens,
  prompts: async () => (await import('./agents/prompts.ts')).prompts,
  swaps: async () => (await import('./process/swaps.ts')).swaps,
  memory: async () => (await import('./agents/memory.ts')).memory,
  logs: async () => (await import('./process/logs.ts')).logs,
  help: async () => (await import('./process/help.ts')).help,
  size: async () => (await import('./process/size.ts')).size,
  large: async () => (await import('./process/large.ts')).large,
  wal: async () => (await import('./process/wal.ts')).wal,
  requests: async () => (await import('./requests/requests.ts')).requests,
  streams: async () => (await import('./requests/streams.ts')).streams,
  recording: async () => (await import('./process/recording.ts')).recording,
  repair: async () => (await import('./agents/repair.ts')).repair,
  guardrails: async () => (await import('./agents/guardrails.ts')).guardrails,
  cluster: async () => (await import('./process/cluster.ts')).several,
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'string', default: 'logs/bench.json' },
    compare: { type: 'string' },
    list: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  },
})
const unknown = positionals.filter(name => !(name in SUBJECTS))
if (values.help) console.log(HELP)
else if (values.list) console.log(Object.keys(SUBJECTS).join('\n'))
else if (unknown.length > 0) {
  console.error(`There is no subject ${unknown.join(', ')}; there are ${Object.keys(SUBJECTS).join(', ')}.`)
  process.exitCode = 2
} else process.exit(await bench(positionals.length > 0 ? positionals : Object.keys(SUBJECTS)))

async function bench(names: readonly string[]): Promise<number> {
  const earlier = values.compare ? (JSON.parse(await readFile(values.compare, 'utf8')) as Report) : undefined
  const report = await makeReport()
  const failed: string[] = []
  for (const name of names) {
    console.error(`${name} …`)
    try {
      report.rows.push(...(await (await SUBJECTS[name]!())()).map(row => ({ subject: name, ...row })))
    } catch (error) {
      // A failure does not lose the figures of the other benchmarks.
      console.error(error)
      failed.push(name)
    }
    await mkdir(dirname(values.json), { recursive: true })
    await writeFile(values.json, `${JSON.stringify(report, null, 2)}\n`)
  }
  console.log(table(report))
  if (earlier) console.log(`\n${compareReports(report, earlier)}`)
  if (failed.length > 0) console.error(`failed: ${failed.join(', ')}`)
  return failed.length > 0 || report.rows.some(({ met }) => met === false) ? 1 : 0
}
