import { describe, expect, it } from 'vitest'
import { Memory, MemoryEmbeddings } from '#core/memory/contract'
import { definePlugin } from '#kernel'
import { example } from '../../../examples/example.ts'
import { linesBehind, writeBehind } from '../../../support/direct-access.ts'
import { type TestHost, until } from '../../../support/index.ts'
import { httpServer } from '../../../support/model/http.ts'
import { remembering } from './memory-host.ts'

const of = (home: TestHost) => home.kernel.use(Memory).of('worker-1')
const thoughts = (records: readonly { thought: string }[]) => records.map(({ thought }) => thought)
const vectors = ({ root }: TestHost) => linesBehind(root, 'memory/worker-1/vectors.jsonl')

/** Distinguishes animals, vehicles and the rest. */
function meaning(text: string): number[] {
  const has = (...words: string[]) => (words.some(word => text.includes(word)) ? 1 : 0)
  return [has('cat', 'feline', 'pet'), has('car', 'vehicle', 'truck'), 0.1]
}

/** Returns a plugin that records the texts it is asked to embed. */
function embedding(name = 'meaning', embed: MemoryEmbeddings['embed'] = async texts => texts.map(meaning)) {
  const asked: string[] = []
  const plugin = definePlugin({
    name: 'embedding',
    setup(svc) {
      svc.add(MemoryEmbeddings, {
        name,
        embed(texts, signal) {
          asked.push(...texts)
          return embed(texts, signal)
        },
      })
    },
  })
  return { plugin, asked }
}

describe('embeddings', () => {
  it('find records of the same meaning in other words, together with those of the same words', async () => {
    const { plugin, asked } = embedding()
    await using home = await remembering([plugin])
    for (const thought of ['a feline sleeps', 'the truck is loud', 'seven o’clock']) await of(home).store(thought)
    expect(asked).toEqual([])
    const [hit, ...others] = await of(home).search('my cat')
    expect(hit).toMatchObject({ thought: 'a feline sleeps' })
    expect(others).toEqual([])
    expect(hit!.score).toBeGreaterThan(0.4)
    // A match by words and meaning ranks above a match by meaning alone.
    await of(home).store('the cat of a neighbour')
    expect(thoughts(await of(home).search('cat'))).toEqual(['the cat of a neighbour', 'a feline sleeps'])
    expect(thoughts(await of(home).search('clock'))[0]).toBe('seven o’clock')
  })

  it('are computed once for each text, also across restarts, and again only for changed texts', async () => {
    const first = embedding()
    await using home = await remembering([first.plugin])
    await of(home).store('a feline sleeps', {}, 'mem-cat')
    await of(home).store('the truck is loud', {}, 'mem-car')
    await of(home).search('pet')
    await of(home).search('pet')
    expect(first.asked.filter(text => text !== 'pet')).toHaveLength(2)
    expect(await vectors(home)).toHaveLength(2)
    await of(home).put('mem-car', 'the pet is loud')
    await of(home).forget('mem-cat')
    const second = embedding()
    await using again = await remembering([second.plugin], { root: home.root })
    expect(thoughts(await of(again).search('feline'))).toEqual(['the pet is loud'])
    expect(second.asked).toEqual(['feline', 'the pet is loud'])
    // Vectors of another model are not comparable.
    const third = embedding('other')
    await using other = await remembering([third.plugin], { root: home.root })
    await of(other).search('feline')
    expect(third.asked).toEqual(['feline', 'the pet is loud'])
  })

  it('of many records are computed in the background, so that the first search waits only for some', async () => {
    const sizes: number[] = []
    const { plugin } = embedding('sized', async texts => {
      sizes.push(texts.length)
      return texts.map(meaning)
    })
    await using home = await remembering([plugin])
    const line = (n: number) => JSON.stringify({ memory_id: `m-${n}`, thought: `cat ${n}`, ts: '2026-01-01T00:00:00Z' })
    const lines = Array.from({ length: 150 }, (_, n) => `${line(n)}\n`)
    await writeBehind(home.root, 'memory/worker-1/memories.jsonl', lines.join(''))
    await of(home).look('vehicle', 1)
    await until(async () => (await vectors(home)).length === 150)
    expect(sizes).toEqual([64, 63, 24])
  })

  it.each([
    ['throws', () => Promise.reject(new Error('no such model'))],
    ['gives too few', async () => [[1]]],
    ['gives what is no number', async (texts: readonly string[]) => texts.map(() => [Number.NaN])],
  ])('are replaced by a word search when their plugin %s, and are requested again after a minute', async (_, embed) => {
    let broken = true
    const { plugin } = embedding('meaning', texts => (broken ? embed(texts) : Promise.resolve(texts.map(meaning))))
    await using home = await remembering([plugin])
    await of(home).store('a feline sleeps')
    expect(thoughts(await of(home).search('feline'))).toEqual(['a feline sleeps'])
    broken = false
    expect(await of(home).search('pet')).toEqual([])
    expect(home.logged('memories are searched by words only')).toHaveLength(1)
    await home.clock.advance(60_000)
    expect(thoughts(await of(home).search('pet'))).toEqual(['a feline sleeps'])
  })

  it('that never arrive are awaited for at most ten seconds, and do not block a store meanwhile', async () => {
    const { plugin } = embedding('slow', () => new Promise(() => {}))
    await using home = await remembering([plugin])
    await of(home).store('a feline sleeps')
    const search = of(home).search('feline')
    await of(home).store('stored meanwhile')
    await home.clock.advance(10_000)
    expect(thoughts(await search)).toEqual(['a feline sleeps'])
  })

  it('are provided by one plugin only', async () => {
    const other = definePlugin({
      name: 'other',
      setup: svc => void svc.add(MemoryEmbeddings, { name: 'other', embed: async () => [] }),
    })
    await expect(remembering([embedding().plugin, other])).rejects.toThrow('"embedding" already provides embeddings')
  })
})

describe('the example plugin', () => {
  it('finds other forms of words without any server', async () => {
    await using home = await remembering([], { plugins: example('memory-embeddings.ts') })
    await of(home).store('Database passwords rotate weekly')
    await of(home).store('Pelicans nest on cliffs')
    expect(thoughts(await of(home).search('rotating the password'))).toEqual(['Database passwords rotate weekly'])
  })

  it('asks a server with an OpenAI-compatible endpoint, with the key from the environment', async () => {
    const seen: { url?: string; authorization?: string; model?: string }[] = []
    await using server = await httpServer(async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      const { model, input } = JSON.parse(body) as { model: string; input: string[] }
      seen.push({ url: request.url!, authorization: request.headers.authorization ?? '', model })
      // Answers in another order than asked.
      const data = input.map((text, index) => ({ index, embedding: meaning(text) })).reverse()
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ data }))
    })
    const base_url = `${server.url}/v1/`
    await using home = await remembering([], {
      plugins: example('memory-embeddings.ts'),
      config: { plugins: { config: { 'memory-embeddings': { base_url, model: 'small' } } } },
      env: { OPENAI_API_KEY: 'sk-test' },
    })
    await of(home).store('a feline sleeps')
    await of(home).store('the truck is loud')
    expect(thoughts(await of(home).search('pet'))).toEqual(['a feline sleeps'])
    expect(seen).toEqual([{ url: '/v1/embeddings', authorization: 'Bearer sk-test', model: 'small' }])
  })
})
