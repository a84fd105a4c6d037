import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { keyedIds, keyedRandom, systemPorts } from '#kernel'
import { Journal } from '../../builtins/memory/journal.ts'
import { Memories } from '../../builtins/memory/memories.ts'
import { termsOf } from '../../builtins/memory/terms.ts'
import { tempDir } from '../support/temp.ts'

const random = keyedRandom(7)
/** As often as in a language: the n-th word comes 1/n as often as the first. */
const word = (...key: (string | number)[]) =>
  `word${Math.floor(Math.exp(random.number('word', ...key) * Math.log(20_000)))}`
const text = (name: string, n: number, words: number) =>
  Array.from({ length: words }, (_, at) => word(name, n, at)).join(' ')

const percentile = (times: number[], share: number) =>
  times.sort((a, b) => a - b)[Math.floor(times.length * share)] ?? 0

/** What it costs to remember, at three sizes of one agent's memory, beside two plain ways to search the same texts. */
export async function memory(): Promise<void> {
  const cells = (...all: (string | number)[]) => all.map(cell => String(cell).padStart(12)).join('')
  console.log('one agent’s memory: records of 24 words, queries of 6, the 5 best; times in milliseconds')
  console.log('(scan: all texts at each search; maps: an index of maps, and all hits sorted; both without files)')
  console.log(
    cells('records', 'read+index', 'max turn', 'search p50', 'search p99', 'store p50', 'forget p50', 'heap MB'),
    cells('maps p50', 'scan p50', 'maps/ours', 'scan/ours'),
  )
  for (const records of [1_000, 10_000, 100_000]) console.log(cells(records, ...(await measure(records))))
}

async function measure(records: number): Promise<string[]> {
  await using dir = await tempDir()
  const ports = systemPorts({ ids: keyedIds(random) })
  const log = { warn() {} } as never
  const file = join(dir.path, 'memories.jsonl')
  const open = () => new Memories(new Journal(file, { ports, log }), ports)
  const ts = new Date().toISOString()
  const texts = Array.from({ length: records }, (_, n) => text('record', n, 24))
  const lines = texts.map((thought, n) =>
    JSON.stringify({ memory_id: `mem-${n}`, thought, metadata: { kind: 'note' }, ts }),
  )
  await dir.write({ 'memories.jsonl': `${lines.join('\n')}\n` })
  globalThis.gc?.()
  const heap = process.memoryUsage()
  const turns = monitorEventLoopDelay({ resolution: 1 })
  let began = performance.now()
  turns.enable()
  const memories = open()
  await memories.count()
  const built = performance.now() - began
  turns.disable()
  globalThis.gc?.()
  const now = process.memoryUsage()
  const held = now.heapUsed + now.arrayBuffers - heap.heapUsed - heap.arrayBuffers
  const timed = async (times: number, work: (n: number) => unknown) => {
    const all: number[] = []
    for (let n = 0; n < times; n++) {
      began = performance.now()
      await work(n)
      all.push(performance.now() - began)
    }
    return all
  }
  const searches = await timed(300, n => memories.search(text('query', n, 6), 5))
  const stores = await timed(200, n => memories.store(text('more', n, 24)))
  const forgets = await timed(200, n => memories.forget(`mem-${n}`))
  await memories.flush()
  const byMaps = mapped(texts)
  const maps = percentile(await timed(50, n => byMaps(text('query', n, 6))), 0.5)
  const scan = percentile(await timed(records > 10_000 ? 1 : 5, n => scanned(texts, text('query', n, 6))), 0.5)
  const ours = percentile(searches, 0.5)
  return [
    ...[built, turns.max / 1e6].map(each => each.toFixed(0)),
    ...[ours, percentile(searches, 0.99), percentile(stores, 0.5), percentile(forgets, 0.5)].map(each =>
      each.toFixed(2),
    ),
    (held / 2 ** 20).toFixed(0),
    ...[maps, scan].map(each => each.toFixed(2)),
    ...[maps / ours, scan / ours].map(each => each.toFixed(1)),
  ]
}

const countsOf = (terms: readonly string[]) => {
  const counts = new Map<string, number>()
  for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1 / terms.length)
  return counts
}

/** An inverted index of maps, as libraries for searches in text have: each hit in a map, all of them sorted. */
function mapped(texts: readonly string[]): (query: string) => number[] {
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

/** All texts are taken apart at each search. */
function scanned(texts: readonly string[], query: string): number[] {
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
