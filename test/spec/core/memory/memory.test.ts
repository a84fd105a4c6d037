import { execFileSync } from 'node:child_process'
import { appendFile, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Memory, type MemoryRecord } from '#core/memory/contract'
import memory from '#core/memory/index'
import { memoryList } from '#core/memory/operations'
import { termsOf } from '#core/memory/search/terms'
import { TfIdf } from '#core/memory/search/tfidf'
import { appendBehind, linesBehind, ON_POSTGRES } from '../../../support/direct-access.ts'
import { type TestHost, type TestHostOptions, testHost } from '../../../support/index.ts'
import { AGENT_MODULES, spawn, WORKER } from '../models/model-host.ts'

let seed = 0
/** Opens a test host with ids of its own, like a separate process. */
const open = (options: TestHostOptions = {}) =>
  testHost({
    seed: ++seed,
    builtins: [...AGENT_MODULES, memory],
    files: { 'profiles/worker.yaml': WORKER, ...options.files },
    roles: ['server'],
    ...options,
  })
const memoryOf = (home: TestHost, id = 'worker-1') => home.kernel.use(Memory).of(id)
const pathOf = (id: string) => `memory/${id}/memories.jsonl`
const fileOf = (home: TestHost, id = 'worker-1') => join(home.root, '.svc', pathOf(id))
const linesOf = ({ root }: TestHost) => linesBehind(root, pathOf('worker-1'))
const thoughts = (records: readonly MemoryRecord[]) => records.map(({ thought }) => thought)

describe('the memory of an agent', () => {
  it('finds what is nearest to a query, best first, also after a restart', async () => {
    await using first = await open()
    const records = memoryOf(first)
    await records.store('The database password rotates every Monday')
    await records.store('Pelicans nest on the southern cliffs', { source: 'walk', weight: 3 })
    await records.store('The southern pelican colony doubled, said the ranger', { topic: 'pelicans' })
    const hits = await records.search('pelicans of the southern cliffs')
    expect(thoughts(hits)).toEqual([
      'Pelicans nest on the southern cliffs',
      'The southern pelican colony doubled, said the ranger',
    ])
    expect(hits[0]!.score).toBeGreaterThan(hits[1]!.score)
    expect(hits[0]).toMatchObject({ metadata: { source: 'walk', weight: 3 }, access_count: 0, last_accessed: null })
    expect(await records.search('quantum chromodynamics')).toEqual([])

    await using again = await open({ root: first.root })
    const [hit] = await memoryOf(again).search('password', 1)
    expect(hit).toMatchObject({ thought: 'The database password rotates every Monday' })
    expect(await memoryOf(again).peek(hit!.memory_id)).toMatchObject({ access_count: 1 })
  })

  it('stores one record for each id, and forgets it for good', async () => {
    await using home = await open()
    const records = memoryOf(home)
    expect(await records.store('the kettle is on', {}, 'mem-kettle')).toBe('mem-kettle')
    expect(await records.store('the kettle is on again', {}, 'mem-kettle')).toBe('mem-kettle')
    expect(thoughts(await records.recent())).toEqual(['the kettle is on'])
    expect(await records.forget('mem-kettle')).toBe(true)
    expect(await records.forget('mem-kettle')).toBe(false)
    expect(await records.search('kettle')).toEqual([])
    expect(await records.recall('mem-kettle')).toBeUndefined()
  })

  it('counts uses by the agent but not by viewers, and removes old records that were not used', async () => {
    await using home = await open()
    const records = memoryOf(home)
    const ts = '2000-01-01T00:00:00Z'
    const old = ['used', 'unused'].map(word => ({ memory_id: `mem-${word}`, thought: `an ${word} old fact`, ts }))
    await records.store('a fact to begin with', {}, 'mem-first')
    await appendBehind(
      home.root,
      pathOf('worker-1'),
      old.map(line => JSON.stringify(line)),
    )
    const used = 'mem-used'
    await records.forget('mem-first')
    await records.recall(used)
    await records.recall(used)
    await records.look('fact', 5)
    await records.store('a fact of today')
    expect(await records.consolidate(30, 2)).toBe(1)
    expect(thoughts(await records.recent())).toEqual(['a fact of today', 'an used old fact'])
    expect(await records.peek(used)).toMatchObject({ access_count: 2 })
    expect(await linesOf(home)).toHaveLength(2)
  })

  it('finds the newest value of a name', async () => {
    await using home = await open()
    const records = memoryOf(home)
    await records.store('blue', { kind: 'kv', key: 'colour' })
    for (let n = 0; n < 300; n++) await records.store(`noise ${n}`)
    expect((await records.findNamed('key', 'colour'))?.thought).toBe('blue')
    await records.store('green', { kind: 'kv', key: 'colour' })
    expect((await records.findNamed('key', 'colour'))?.thought).toBe('green')
  })

  it('replaces a record under its id: as the newest, with its access count, found by its new words only', async () => {
    await using home = await open()
    const records = memoryOf(home)
    await records.put('mem-plan', 'sail to Naxos', { kind: 'plan', goal_id: 'goal-abc' })
    await records.recall('mem-plan')
    await records.store('something later')
    await records.put('mem-plan', 'walk to Athens', { kind: 'plan' })
    await records.put('mem-plan', 'walk to Athens', { kind: 'plan' })
    await using again = await open({ root: home.root })
    for (const each of [records, memoryOf(again)]) {
      expect(thoughts(await each.recent())).toEqual(['walk to Athens', 'something later'])
      expect(await each.look('Naxos', 5)).toEqual([])
      expect(await each.peek('mem-plan')).toMatchObject({ access_count: 1, metadata: { kind: 'plan' } })
    }
    expect(await linesOf(home)).toHaveLength(4)
    await records.put('mem-plan', 'stay', { goal_id: 'goal-abc' })
    expect(await records.look('goal-abc', 5)).toEqual([])
  })

  it('lists records of one kind, page by page', async () => {
    await using home = await open()
    const records = memoryOf(home)
    for (let n = 0; n < 9; n++) await records.store(`thing number ${n}`, { kind: n % 2 ? 'odd' : 'even' })
    const only = { kind: 'odd' }
    expect(thoughts(await records.recent(2, { only }))).toEqual(['thing number 7', 'thing number 5'])
    expect(thoughts(await records.recent(2, { only, offset: 2 }))).toEqual(['thing number 3', 'thing number 1'])
    expect(await records.recent(2, { only, offset: 4 })).toEqual([])
    expect(new Set(thoughts(await records.search('thing number', 4, only)))).toEqual(
      new Set([1, 3, 5, 7].map(n => `thing number ${n}`)),
    )
  })

  it('finds words in any script', async () => {
    await using home = await open()
    const records = memoryOf(home)
    await records.store('Die Prüfung der Brücke ergab Risse')
    await records.store('今日は東京で会議があります')
    await records.store('Встреча перенесена на пятницу')
    await records.store('ข้อมูลสำคัญอยู่ในตู้เซฟ')
    expect(thoughts(await records.search('BRÜCKE'))).toEqual(['Die Prüfung der Brücke ergab Risse'])
    expect(thoughts(await records.search('東京'))).toEqual(['今日は東京で会議があります'])
    expect(thoughts(await records.search('пятницу встреча'))).toEqual(['Встреча перенесена на пятницу'])
    expect(termsOf('The ﬁne café, 2nd of May!')).toEqual(['fine', 'café', '2nd', 'mai'])
  })
})

describe('the memory file', () => {
  it('is shared by processes: each finds what the other wrote, and nothing is lost', async () => {
    await using one = await open({ clock: 'system' })
    await using other = await open({ root: one.root, clock: 'system' })
    const writers = [one, other].flatMap((home, h) =>
      Array.from({ length: 40 }, (_, n) => memoryOf(home).store(`fact ${['ox', 'elk'][h]} number ${n}`)),
    )
    const consolidated = memoryOf(one).consolidate(1, 1)
    expect(new Set(await Promise.all(writers)).size).toBe(80)
    await consolidated
    for (const home of [one, other]) expect(await memoryOf(home).count()).toBe(80)
    expect((await memoryOf(one).search('fact elk number 39', 1))[0]?.thought).toBe('fact elk number 39')
  })

  it.skipIf(ON_POSTGRES)('loses only a torn line, wherever a write was cut off', async () => {
    const last = `${JSON.stringify({ memory_id: 'mem-last', thought: 'the last größte thought', ts: '2026-01-01T00:00:00Z' })}\n`
    const bytes = Buffer.from(last)
    await using home = await open({ clock: 'system' })
    await using next = await open({ root: home.root, clock: 'system' })
    for (let cut = 1; cut <= bytes.length; cut++) {
      const id = `worker-cut-${cut}`
      await memoryOf(home, id).store('the first thought')
      await appendFile(fileOf(home, id), bytes.subarray(0, cut))
      await memoryOf(next, id).store('the thought after')
      const whole = cut >= bytes.length - 1 ? ['the last größte thought'] : []
      expect(thoughts(await memoryOf(next, id).recent()).sort(), `cut at ${cut}`).toEqual(
        ['the first thought', 'the thought after', ...whole].sort(),
      )
    }
  })

  it.skipIf(ON_POSTGRES)('sets a torn line apart and reports it once', async () => {
    await using home = await open({ files: { '.svc/memory/worker-1/memories.jsonl': '{"memory_id":"mem-c","tho' } })
    await memoryOf(home).store('sound')
    expect(home.logged('1 broken lines')).toHaveLength(1)
    await using again = await open({ root: home.root })
    expect(thoughts(await memoryOf(again).recent())).toEqual(['sound'])
    expect(again.logged('broken lines')).toEqual([])
    expect(await readFile(`${fileOf(home)}.corrupt`, 'utf8')).toBe('{"memory_id":"mem-c","tho\n')
  })

  it('does not grow with use: access records are removed when there are many', async () => {
    await using home = await open()
    const records = memoryOf(home)
    for (const word of ['one', 'two', 'three']) await records.store(`thought number ${word}`)
    for (let n = 0; n < 500; n++) await records.search('thought number', 3)
    expect((await linesOf(home)).length).toBeLessThan(1_010)
    for (const { access_count } of await records.recent()) expect(access_count).toBe(500)
    await home.clock.advance(1_000)
    await using again = await open({ root: home.root })
    expect((await memoryOf(again).recent())[0]).toMatchObject({ access_count: 500 })
  })

  it.skipIf(ON_POSTGRES)(
    'keeps the readable lines when others are broken; those are set apart and reported once',
    async () => {
      await using home = await open()
      await memoryOf(home).store('sound')
      await appendFile(fileOf(home), '{"memory_id":7}\n\u0000\u0000\u0000\n{"no":"record"}\n')
      await using again = await open({ root: home.root })
      await memoryOf(again).store('sound too')
      expect(thoughts(await memoryOf(again).recent())).toEqual(['sound too', 'sound'])
      expect(again.logged('3 broken lines')).toHaveLength(1)
      expect((await readFile(`${fileOf(home)}.corrupt`, 'utf8')).trim().split('\n')).toHaveLength(3)
      await using third = await open({ root: home.root })
      expect(await memoryOf(third).count()).toBe(2)
      expect(third.logged('broken lines')).toEqual([])
      expect((await stat(fileOf(home))).mode & 0o777).toBe(0o600)
    },
  )

  it.skipIf(ON_POSTGRES)('is refused when its file is a named pipe, whose other end may never come', async () => {
    await using home = await open()
    await mkdir(dirname(fileOf(home)), { recursive: true })
    execFileSync('mkfifo', [fileOf(home)])
    await expect(memoryOf(home).count()).rejects.toThrow(/memories\.jsonl is a named pipe, not a regular file/)
  })

  it('takes over what an earlier program stored, once', async () => {
    const legacy = JSON.stringify({ colour: 'blue', list: [1, 2] })
    await using home = await open({ files: { '.svc/agent_memory/worker-1.json': legacy } })
    expect((await memoryOf(home).findNamed('key', 'colour'))?.thought).toBe('blue')
    expect((await memoryOf(home).findNamed('key', 'list'))?.thought).toBe('[1,2]')
    const { memory_id } = (await memoryOf(home).findNamed('key', 'colour'))!
    await memoryOf(home).forget(memory_id)
    await using again = await open({ root: home.root })
    expect(await memoryOf(again).findNamed('key', 'colour')).toBeUndefined()

    const file = join(home.root, '.svc/agent_memory/worker-2.json')
    await writeFile(file, '{ torn')
    expect(await memoryOf(home, 'worker-2').count()).toBe(0)
    expect(home.logged(`cannot import ${file}: `)).toHaveLength(1)
  })

  it('is never outside its folder, whatever the agent id is', async () => {
    await using home = await open()
    for (const id of ['../x', 'a/b', '', '.', 'a\u0000b'])
      expect(() => memoryOf(home, id)).toThrow('is not a valid agent id')
  })
})

describe('operators', () => {
  it('add, list, search and remove what an agent remembers', async () => {
    await using home = await open()
    const agent_id = await spawn(home)
    const records = home.kernel.use(Memory).of(agent_id)
    for (const thought of ['apples are red', 'bananas are yellow']) await records.store(thought)
    const added = await home.kernel.invoke('memory.add', { id: agent_id, thought: ' the sky is blue ' })
    expect(added).toMatchObject({ thought: 'the sky is blue', metadata: { kind: 'operator' } })
    await expect(home.kernel.invoke('memory.add', { id: agent_id, thought: ' ' })).rejects.toThrow(/thought/)
    expect(memoryList.render!([{ ...(added as MemoryRecord), thought: 'a'.repeat(161), score: null }])).toMatch(/a…$/)
    const keyed = { ...(added as MemoryRecord), metadata: { kind: 'kv', key: 'colour' }, score: null }
    expect(memoryList.render!([keyed])).toMatch(/colour: the sky is blue$/)
    const list = (input: object) => home.kernel.invoke('memory.list', { id: agent_id, ...input })
    expect(await list({ limit: 2, offset: 1 })).toMatchObject([
      { thought: 'bananas are yellow', score: null },
      { thought: 'apples are red' },
    ])
    const [hit] = (await list({ query: 'yellow fruit' })) as { memory_id: string; score: number }[]
    expect(hit).toMatchObject({ thought: 'bananas are yellow', access_count: 0 })
    const { memory_id } = hit!
    expect(await home.kernel.invoke('memory.get', { id: agent_id, memory_id })).toMatchObject({ access_count: 0 })
    await home.kernel.invoke('memory.forget', { id: agent_id, memory_id })
    await expect(home.kernel.invoke('memory.get', { id: agent_id, memory_id })).rejects.toMatchObject({
      code: 'memory_not_found',
    })
  })
})

describe('the search index', () => {
  it('gives the same scores as a plain computation with the same weights', () => {
    const words = ['ox', 'elk', 'emu', 'gnu', 'yak', 'koi', 'asp', 'bee']
    let state = 7
    const random = (n: number) => {
      state = (state * 48271) % 2147483647
      return state % n
    }
    const texts = Array.from({ length: 120 }, () => Array.from({ length: 3 + random(9) }, () => words[random(8)]!))
    const index = new TfIdf()
    for (const text of texts) index.add(text.join(' '))
    for (let doc = 0; doc < 40; doc += 3) index.remove(doc, texts[doc]!.join(' '))
    index.search('ox', 1)
    const live = texts.map((text, doc) => ({ text, doc })).filter(({ doc }) => doc >= 40 || doc % 3 !== 0)
    const df = (term: string) => live.filter(({ text }) => text.includes(term)).length
    const idf = (term: string) => Math.log((live.length + 1) / (df(term) + 1)) + 1
    const vector = (text: readonly string[]) =>
      words.map(word => (text.filter(each => each === word).length / text.length) * idf(word))
    const dot = (a: readonly number[], b: readonly number[]) => a.reduce((sum, each, at) => sum + each * b[at]!, 0)
    const query = ['elk', 'yak', 'yak', 'bee']
    const plain = live
      .map(({ text, doc }) => {
        const [a, b] = [vector(text), vector(query)]
        return { doc, score: dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b)) }
      })
      .sort((a, b) => b.score - a.score)
    const found = index.search(query.join(' '), 10)
    for (const [place, { score }] of found.entries()) expect(score).toBeCloseTo(plain[place]!.score, 10)
    expect(found).toHaveLength(10)
  })
})
