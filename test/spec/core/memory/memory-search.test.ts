import { readFile, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Memory, type MemoryHit } from '#core/memory/contract'
import { termsOf } from '#core/memory/search/terms'
import { keyedRandom } from '#lib/keyed-random'
import { linesBehind, ON_POSTGRES, writeBehind } from '../../../support/direct-access.ts'
import { type TestHost, until } from '../../../support/index.ts'
import { remembering } from './memory-host.ts'

const of = (home: TestHost, id = 'worker-1') => home.kernel.use(Memory).of(id)
const PATH = 'memory/worker-1/memories.jsonl'
const fileOf = (home: TestHost) => join(home.root, '.svc', PATH)
const thoughts = (records: readonly { thought: string }[]) => records.map(({ thought }) => thought)

/** Computes TF-IDF as textbooks define it, independently of the program: each document is a vector over all words. */
function plain(documents: ReadonlyMap<string, string>, query: string): Map<string, number> {
  const words = (text: string) => text.split(' ')
  const times = (word: string, text: string) => words(text).filter(each => each === word).length
  const vocabulary = [...new Set([...documents.values(), query].flatMap(words))]
  const idf = vocabulary.map(word => {
    const having = [...documents.values()].filter(text => words(text).includes(word)).length
    return having === 0 ? 1 : Math.log((documents.size + 1) / (having + 1)) + 1
  })
  const vector = (text: string) => vocabulary.map((word, at) => (times(word, text) / words(text).length) * idf[at]!)
  const dot = (a: number[], b: number[]) => a.reduce((sum, each, at) => sum + each * b[at]!, 0)
  const asked = vector(query)
  const scores = [...documents].map(([id, text]): [string, number] => {
    const found = vector(text)
    return [id, dot(asked, found) / Math.sqrt(dot(asked, asked) * dot(found, found))]
  })
  return new Map(scores.filter(([, score]) => score > 0.05))
}

/** Checks that the scores match place by place. Records of the same score may come in any order. */
function expectRanked(hits: readonly MemoryHit[], wanted: ReadonlyMap<string, number>, digits: number): void {
  const scores = [...wanted.values()].sort((a, b) => b - a)
  expect(hits).toHaveLength(Math.min(10, wanted.size))
  for (const [place, { memory_id, score }] of hits.entries()) {
    expect(score).toBeCloseTo(scores[place]!, digits)
    expect(wanted.get(memory_id)).toBeCloseTo(score, digits)
  }
}

describe('the ranking', () => {
  it('matches an independent computation of TF-IDF and cosine, also after many deletions and replacements', async () => {
    await using home = await remembering()
    const random = keyedRandom(11)
    const randomUpTo = (most: number, ...key: (string | number)[]) => Math.floor(random.number('draw', ...key) * most)
    // Short texts of few words, so that there are ties and some words occur in most texts.
    const text = (name: string, n: number) =>
      Array.from(
        { length: 2 + randomUpTo(7, name, n) },
        (_, at) => `word${Math.floor(40 ** random.number(name, n, at))}`,
      ).join(' ')
    const documents = new Map<string, string>()
    const lines: string[] = []
    for (let n = 0; n < 160; n++) {
      const [memory_id, thought] = [`mem-${n}`, text('record', n)]
      documents.set(memory_id, thought)
      lines.push(JSON.stringify({ memory_id, thought, ts: '2026-01-01T00:00:00Z' }))
    }
    await writeBehind(home.root, PATH, `${lines.join('\n')}\n`)
    const records = of(home)
    const check = async (round: string) => {
      for (let n = 0; n < 9; n++) {
        const query = `${text(round, n)}${n % 3 === 0 ? ' unheard' : ''}`
        expectRanked(await records.look(query, 10), plain(documents, query), 10)
      }
    }
    await check('first')
    for (let n = 0; n < 160; n += 4) {
      if (n % 3) await records.put(`mem-${n}`, text('other', n))
      else await records.forget(`mem-${n}`)
      if (n % 3) documents.set(`mem-${n}`, text('other', n))
      else documents.delete(`mem-${n}`)
    }
    await check('second')
    await using again = await remembering([], { root: home.root })
    expect(await of(again).look('word0 word3 word9', 10)).toEqual(await records.look('word0 word3 word9', 10))
  })

  it('puts the newer of two equal records first, and returns no more than requested', async () => {
    await using home = await remembering()
    for (const id of ['a', 'b', 'c']) await of(home).store('the kiln is hot', {}, id)
    const ids = async (top_k: number) => (await of(home).look('kiln', top_k)).map(({ memory_id }) => memory_id)
    expect(await ids(5)).toEqual(['c', 'b', 'a'])
    expect(await ids(2)).toEqual(['c', 'b'])
    expect(await ids(0)).toEqual([])
  })

  it('splits every script into words: pairs of characters where there are no spaces, and single ones that are words', () => {
    expect(termsOf('東京タワー')).toEqual(['東京', '京タ', 'タワ', 'ワー', '東', '京'])
    expect(termsOf('猫')).toEqual(['猫'])
    expect(termsOf('iPhoneを買う')).toEqual(['iphon', 'を買', '買う', '買'])
    expect(termsOf('Ελλάδα 2026, नमस्ते दुनिया; don’t')).toEqual(['ελλάδα', '2026', 'नमस्ते', 'दुनिया', 'don'])
    expect(termsOf('ＡＢＣ　ｶﾞ')).toEqual(['abc', 'ガ'])
    expect(termsOf('x — … 🎉')).toEqual([])
  })

  it('finds English words in any form, also beside other scripts', async () => {
    await using home = await remembering()
    await of(home).store('Tests are written with pytest — never with unittest')
    await of(home).store('unrelated words')
    for (const query of ['write a test', 'testing', 'writing tests'])
      expect(thoughts(await of(home).search(query)), query).toEqual([
        'Tests are written with pytest — never with unittest',
      ])
  })

  it('finds a part of a text that is written without spaces, whatever surrounds it', async () => {
    await using home = await remembering()
    for (const thought of ['私は東京都に住んでいます', '他們養了三隻貓', 'ข้อมูลสำคัญอยู่ในตู้เซฟ', 'unrelated words'])
      await of(home).store(thought)
    expect(thoughts(await of(home).search('東京'))).toEqual(['私は東京都に住んでいます'])
    expect(thoughts(await of(home).search('貓'))).toEqual(['他們養了三隻貓'])
    expect(thoughts(await of(home).search('ตู้เซฟ'))).toEqual(['ข้อมูลสำคัญอยู่ในตู้เซฟ'])
  })
})

describe('a search', () => {
  it('writes nothing itself: its results count as accessed at once, which is stored a second later', async () => {
    await using home = await remembering()
    await of(home).store('the kiln is hot', {}, 'mem-kiln')
    const before = await linesBehind(home.root, PATH)
    for (let n = 0; n < 3; n++) await of(home).search('kiln')
    expect(await linesBehind(home.root, PATH)).toEqual(before)
    expect(await of(home).peek('mem-kiln')).toMatchObject({ access_count: 3 })
    await home.clock.advance(1_000)
    const addedLines = async () => (await linesBehind(home.root, PATH)).slice(before.length)
    await until(async () => (await addedLines()).length > 0)
    expect((await addedLines()).map(line => JSON.parse(line))).toMatchObject([{ memory_id: 'mem-kiln', times: 3 }])
    expect(await of(home).peek('mem-kiln')).toMatchObject({ access_count: 3 })
  })

  it('counts as access even when the process ends within that second', async () => {
    await using home = await remembering()
    await of(home).store('the kiln is hot', {}, 'mem-kiln')
    await of(home).search('kiln')
    await home.kernel.close()
    await using again = await remembering([], { root: home.root })
    expect(await of(again).peek('mem-kiln')).toMatchObject({ access_count: 1 })
  })

  it.skipIf(ON_POSTGRES)('sees an edit of the file in place, even one that keeps the size', async () => {
    await using home = await remembering()
    await of(home).store('the kiln is hot')
    await of(home).store('the glaze is dry')
    const text = await readFile(fileOf(home), 'utf8')
    await writeFile(fileOf(home), text.replace('the kiln is hot', 'the oven is hot'))
    await utimes(fileOf(home), new Date(), new Date(Date.now() + 5_000))
    expect(thoughts(await of(home).search('oven'))).toEqual(['the oven is hot'])
    expect(await of(home).search('kiln')).toEqual([])
    const more = { memory_id: 'mem-more', thought: 'a shard', ts: '2026-01-01T00:00:00Z' }
    await writeFile(fileOf(home), `${text.replace('glaze is dry', 'clay is soft')}${JSON.stringify(more)}\n`)
    expect(thoughts(await of(home).recent())).toEqual(['a shard', 'the clay is soft', 'the kiln is hot'])
  })

  it('waits until a long file is read, without blocking the event loop', async () => {
    await using home = await remembering([], { clock: 'system' })
    const line = (n: number) =>
      JSON.stringify({
        memory_id: `mem-${n}`,
        thought: `record ${n} ${'of some words '.repeat(5)}`,
        ts: '2026-01-01T00:00:00Z',
      })
    const lines = Array.from({ length: 5_000 }, (_, n) => `${line(n)}\n`)
    await writeBehind(home.root, PATH, lines.join(''))
    let turns = 0
    let reading = true
    const found = of(home)
      .look('4711', 1)
      .finally(() => {
        reading = false
      })
    for (; reading; turns++) await new Promise(resolve => setImmediate(resolve))
    expect((await found)[0]?.memory_id).toBe('mem-4711')
    // The event loop kept running while the index was built.
    expect(turns).toBeGreaterThan(10)
  })
})

describe('the cache of indexes', () => {
  it('keeps those of the most recently used agents; the others are read again, with nothing lost', async () => {
    await using home = await remembering([], { config: { memory: { held_agents: 2 } } })
    const first = of(home, 'worker-1')
    await first.store('the kiln is hot', {}, 'mem-kiln')
    await first.search('kiln')
    expect(of(home, 'worker-1')).toBe(first)
    for (const id of ['worker-2', 'worker-3']) await of(home, id).store(`a thought of ${id}`)
    expect(of(home, 'worker-1')).not.toBe(first)
    await home.clock.advance(0)
    expect(await of(home, 'worker-1').peek('mem-kiln')).toMatchObject({ thought: 'the kiln is hot', access_count: 1 })
  })

  it('is also limited by the number of records', async () => {
    await using home = await remembering([], { config: { memory: { held_records: 3 } } })
    const first = of(home, 'worker-1')
    for (let n = 0; n < 3; n++) await first.store(`thought ${n}`)
    await of(home, 'worker-2').store('one more')
    await of(home, 'worker-2').count()
    expect(of(home, 'worker-1')).not.toBe(first)
    expect(await of(home, 'worker-1').count()).toBe(3)
  })
})
