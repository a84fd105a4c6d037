import { join } from 'node:path'
import { Bench } from 'tinybench'
import { Journal } from '#core/memory/files/journal'
import { Memories } from '#core/memory/memories'
import { termsOf } from '#core/memory/search/terms'
import { keyedIds, keyedRandom } from '#lib/keyed-random'
import { systemPorts } from '#lib/system-ports'
import { tempDir } from '../../support/temp.ts'
import { costOf, cpu } from '../measures.ts'
import { type Row, row } from '../row.ts'

const random = keyedRandom(7)
/** Word frequencies as in a language: the n-th word occurs 1/n as often as the first. */
const word = (...key: (string | number)[]) =>
  `word${Math.floor(Math.exp(random.number('word', ...key) * Math.log(20_000)))}`
const text = (name: string, n: number, words: number) =>
  Array.from({ length: words }, (_, at) => word(name, n, at)).join(' ')

const SIZES = [1_000, 10_000, 100_000]
const AIMS: Readonly<Record<number, number>> = { 10000: 1, 100000: 5 }

/** Measures the cost of one agent's memory at three sizes, beside two simple ways to search the same texts. */
export async function memory(): Promise<Row[]> {
  const found: Measurement[] = []
  for (const records of SIZES) found.push(await measure(records))
  const [few, ...more] = found as [Measurement, ...Measurement[]]
  return [
    ...found.map(({ records, search, maps, scan }) =>
      row({
        what: `memory search, ${records} records, processor time p50, beside an index of maps`,
        figure: search,
        unit: 'ms',
        baseline: maps,
        ratio: search / maps,
        ...(AIMS[records] ? { aim: { atMost: AIMS[records] } } : {}),
        note: `a scan of all texts takes ${scan.toFixed(1)} ms`,
      }),
    ),
    ...more.map(({ records, store }) =>
      row({
        what: `memory append, ${records} records, processor time p50, beside 1,000`,
        figure: store,
        unit: 'ms',
        baseline: few.store,
        ratio: store / few.store,
        aim: { of: 'ratio', atMost: 1.5 },
      }),
    ),
    ...found.map(({ records, built, held }) =>
      row({
        what: `memory read and indexed, ${records} records, processor time`,
        figure: built,
        unit: 'ms',
        note: `${held.toFixed(0)} MB of heap`,
      }),
    ),
  ]
}

interface Measurement {
  records: number
  built: number
  held: number
  search: number
  store: number
  maps: number
  scan: number
}

async function measure(records: number): Promise<Measurement> {
  await using dir = await tempDir()
  const ports = systemPorts({ ids: keyedIds(random) })
  const log = { warn() {} } as never
  const ts = new Date().toISOString()
  const texts = Array.from({ length: records }, (_, n) => text('record', n, 24))
  const lines = texts.map((thought, n) =>
    JSON.stringify({ memory_id: `mem-${n}`, thought, metadata: { kind: 'note' }, ts }),
  )
  await dir.write({ 'memories.jsonl': `${lines.join('\n')}\n` })
  const heap = process.memoryUsage()
  const memories = new Memories(new Journal(join(dir.path, 'memories.jsonl'), { ports, log }), ports)
  const built = await costOf(() => memories.count())
  const now = process.memoryUsage()
  const held = (now.heapUsed + now.arrayBuffers - heap.heapUsed - heap.arrayBuffers) / 2 ** 20
  const byMaps = mapSearch(texts)
  let n = 0
  const query = () => text('query', n++, 6)
  const bench = new Bench({ now: cpu, time: 400, iterations: 20, warmupIterations: 5, warmupTime: 20, throws: true })
    .add('search', async () => void (await memories.search(query(), 5)))
    .add('maps', () => void byMaps(query()))
    .add('store', async () => void (await memories.store(text('more', n++, 24))))
  await bench.run()
  await memories.flush()
  const p50 = (name: string) => {
    const { result } = bench.getTask(name)!
    return 'latency' in result ? result.latency.p50 : Number.NaN
  }
  const scan = await costOf(() => scanSearch(texts, query()))
  return { records, built, held, search: p50('search'), store: p50('store'), maps: p50('maps'), scan }
}

const countsOf = (terms: readonly string[]) => {
  const counts = new Map<string, number>()
  for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1 / terms.length)
  return counts
}

/** Inverted index of maps, as in libraries for text search: each hit in a map, all of them sorted. */
function mapSearch(texts: readonly string[]): (query: string) => number[] {
  const index = new Map<string, Map<number, number>>()
  for (const [n, text] of texts.entries()) {
    for (const [term, share] of countsOf(termsOf(text))) {
      if (!index.has(term)) index.set(term, new Map())
      index.get(term)?.set(n, share)
    }
  }
  return query => {
    const scores = new Map<number, number>()
    for (const term of termsOf(query)) {
      const found = index.get(term) ?? new Map<number, number>()
      const idf = Math.log((texts.length + 1) / (found.size + 1)) + 1
      for (const [n, share] of found) scores.set(n, (scores.get(n) ?? 0) + share * idf * idf)
    }
    const sorted = [...scores].sort(([, a], [, b]) => b - a)
    return sorted.slice(0, 5).map(([n]) => n)
  }
}

/** Splits all texts into words at each search. */
function scanSearch(texts: readonly string[], query: string): number[] {
  const all = texts.map(text => countsOf(termsOf(text)))
  const having = new Map<string, number>()
  for (const counts of all) for (const term of counts.keys()) having.set(term, (having.get(term) ?? 0) + 1)
  const idf = (term: string) => Math.log((texts.length + 1) / ((having.get(term) ?? 0) + 1)) + 1
  const asked = countsOf(termsOf(query))
  const scores = all.map((counts, n) => {
    let [dot, square] = [0, 0]
    for (const [term, share] of counts) {
      square += (share * idf(term)) ** 2
      dot += share * (asked.get(term) ?? 0) * idf(term) ** 2
    }
    return [n, dot / Math.sqrt(square)] as const
  })
  const sorted = scores.sort(([, a], [, b]) => b - a)
  return sorted.slice(0, 5).map(([n]) => n)
}
