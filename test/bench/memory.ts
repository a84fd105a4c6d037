import { join } from 'node:path'
import { keyedIds, keyedRandom, systemPorts } from '#kernel'
import { Journal } from '../../builtins/memory/journal.ts'
import { Memories } from '../../builtins/memory/memories.ts'
import { tempDir } from '../support/temp.ts'

const random = keyedRandom(7)
/** As often as in a language: the n-th word comes 1/n as often as the first. */
const word = (...key: (string | number)[]) =>
  `word${Math.floor(Math.exp(random.number('word', ...key) * Math.log(20_000)))}`
const text = (name: string, n: number, words: number) =>
  Array.from({ length: words }, (_, at) => word(name, n, at)).join(' ')

const percentile = (times: number[], share: number) =>
  times.sort((a, b) => a - b)[Math.floor(times.length * share)] ?? 0

/** What it costs to remember, at three sizes of one agent's memory. */
export async function memory(): Promise<void> {
  const cells = (...all: (string | number)[]) => all.map(cell => String(cell).padStart(12)).join('')
  console.log('one agent’s memory: records of 24 words, queries of 6, the 5 best; times in milliseconds')
  console.log(cells('records', 'read+index', 'search p50', 'search p99', 'store p50', 'forget p50', 'heap MB'))
  for (const records of [1_000, 10_000, 100_000]) console.log(cells(records, ...(await measure(records))))
}

async function measure(records: number): Promise<string[]> {
  await using dir = await tempDir()
  const ports = systemPorts({ ids: keyedIds(random) })
  const log = { warn() {} } as never
  const file = join(dir.path, 'memories.jsonl')
  const open = () => new Memories(new Journal(file, { ports, log }), ports)
  const ts = new Date().toISOString()
  const lines = Array.from({ length: records }, (_, n) =>
    JSON.stringify({ memory_id: `mem-${n}`, thought: text('record', n, 24), metadata: { kind: 'note' }, ts }),
  )
  await dir.write({ 'memories.jsonl': `${lines.join('\n')}\n` })
  globalThis.gc?.()
  const heap = process.memoryUsage().heapUsed
  let began = performance.now()
  const memories = open()
  await memories.count()
  const built = performance.now() - began
  globalThis.gc?.()
  const held = process.memoryUsage().heapUsed - heap
  const timed = async (times: number, work: (n: number) => Promise<unknown>) => {
    const all: number[] = []
    for (let n = 0; n < times; n++) {
      began = performance.now()
      await work(n)
      all.push(performance.now() - began)
    }
    return all
  }
  // As onlookers search: what an agent's own search costs beyond that is the one append of its accesses.
  const looks = await timed(300, n => memories.look(text('query', n, 6), 5))
  const stores = await timed(200, n => memories.store(text('more', n, 24)))
  const forgets = await timed(200, n => memories.forget(`mem-${n}`))
  return [
    built.toFixed(0),
    ...[percentile(looks, 0.5), percentile(looks, 0.99), percentile(stores, 0.5), percentile(forgets, 0.5)].map(each =>
      each.toFixed(2),
    ),
    (held / 2 ** 20).toFixed(0),
  ]
}
