import { describe, expect, it } from 'vitest'
import { Memory } from '#core/memory/contract'
import knowledge from '#tools/toolkits/knowledge/index'
import memory from '#tools/toolkits/memory/index'
import type { TestHost } from '../../../support/index.ts'
import { use } from '../../use.ts'
import { spawn, WORKER } from '../models/model-host.ts'
import { remembering } from './memory-host.ts'

const save = async (home: TestHost, content: string, more: object = {}) =>
  /^Saved as (mem-\w+)\.$/.exec(await use(home, 'save_note', { content, ...more }))?.[1] ?? ''

describe('a note', () => {
  it('is found by its words, read whole, changed and removed', async () => {
    await using home = await remembering([knowledge])
    const long = `The kiln needs 1,240 degrees. ${'More of it. '.repeat(1_000)}The end of the kiln note.`
    const note_id = await save(home, long, { tags: '#pottery, kiln,,kiln' })
    await save(home, 'Glazes crawl on dusty clay.')
    const found = await use(home, 'search_notes', { query: 'which temperature does the kiln need' })
    expect(found).toMatch(new RegExp(`^${note_id} \\d{4}-\\d\\d-\\d\\d \\(pottery, kiln\\) The kiln needs 1,240`))
    expect(found.length).toBeLessThan(300)
    expect(await use(home, 'search_notes', { query: 'the end of the note' })).toMatch(
      / …[^…]*The end of the kiln note\.$/m,
    )
    const first = await use(home, 'read_note', { note_id })
    const next = /read on with offset=(\d+)/.exec(first)?.[1]
    expect(first.slice(0, Number(next)) + (await use(home, 'read_note', { note_id, offset: next }))).toBe(long)

    expect(await use(home, 'update_note', { note_id, content: 'The kiln is sold.' })).toContain('is changed')
    expect(await use(home, 'read_note', { note_id })).toBe('The kiln is sold.')
    expect(await use(home, 'search_notes', { query: 'degrees' })).toContain('Nothing that you remember')
    expect(await use(home, 'list_recent_notes')).toMatch(/\(pottery, kiln\) The kiln is sold\.\n.*Glazes crawl/)
    expect(await use(home, 'delete_note', { note_id })).toContain('is removed')
    for (const name of ['read_note', 'delete_note'])
      expect(await use(home, name, { note_id })).toContain(`There is no note "${note_id}"`)
    expect(await use(home, 'search_notes', { query: 'kiln sold' })).toContain('Nothing that you remember')
  })

  it('is saved once, however often its call is repeated with the same id', async () => {
    await using home = await remembering([knowledge])
    const call = { call_id: 'worker-1:7:2:0' }
    const once = await use(home, 'save_note', { content: 'only once' }, call)
    expect(await use(home, 'save_note', { content: 'only once' }, call)).toBe(once)
    expect(await home.kernel.use(Memory).of('worker-1').count()).toBe(1)
  })

  it('can be read and removed by its agent only', async () => {
    await using home = await remembering([knowledge])
    const note_id = await save(home, 'a secret of the first')
    const other = { agent_id: 'worker-2' }
    expect(await use(home, 'read_note', { note_id }, other)).toContain('There is no note')
    expect(await use(home, 'search_notes', { query: 'secret' }, other)).toContain('Nothing that you remember')
    expect(await use(home, 'delete_note', { note_id }, other)).toContain('There is no note')
    expect(await use(home, 'read_note', { note_id })).toBe('a secret of the first')
  })
})

describe('lists of notes', () => {
  it('show the newest first, and say how to get all older ones', async () => {
    await using home = await remembering([knowledge])
    for (let n = 0; n < 25; n++) await save(home, `note number ${n}`)
    const seen: number[] = []
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const list = await use(home, 'list_recent_notes', { offset })
      seen.push(...[...list.matchAll(/note number (\d+)$/gm)].map(match => Number(match[1])))
      const next = /\[See older notes with offset=(\d+)\.\]/.exec(list)?.[1]
      offset = next === undefined ? undefined : Number(next)
    }
    expect(seen).toEqual(Array.from({ length: 25 }, (_, n) => 24 - n))
    expect(await use(home, 'list_recent_notes', { offset: 25 })).toBe('[There are no older notes.]')
    const hits = await use(home, 'search_notes', { query: 'note number', limit: '3' })
    expect(hits.split('\n')).toHaveLength(4)
    expect(hits).toContain('ask with a higher limit')
  })

  it('hold notes only, while a search finds every memory, which the note tools can read but not change', async () => {
    await using home = await remembering([knowledge, memory])
    await use(home, 'memory_set', { key: 'harbour', value: 'Piraeus' })
    await save(home, 'The harbour closes at nine.')
    expect(await use(home, 'list_recent_notes')).not.toContain('Piraeus')
    const found = await use(home, 'search_notes', { query: 'harbour' })
    const value = /^(mem-\w+) .*\[kv harbour\] Piraeus$/m.exec(found)?.[1] ?? ''
    expect(await use(home, 'read_note', { note_id: value })).toBe('Piraeus')
    expect(await use(home, 'delete_note', { note_id: value })).toContain('There is no note')
    expect(await use(home, 'update_note', { note_id: value, content: 'Kythira' })).toContain('There is no note')
    expect(await use(home, 'memory_get', { key: 'harbour' })).toBe('Piraeus')
  })
})

it('the operator lists or searches the notes of an agent, which does not count as access', async () => {
  await using home = await remembering([knowledge], { files: { 'profiles/worker.yaml': WORKER } })
  const id = await spawn(home)
  const write = (content: string, tags = '') => use(home, 'save_note', { content, tags }, { agent_id: id })
  const kiln = (await write('The kiln is hot.\nKeep away.', 'pottery')).slice('Saved as '.length, -1)
  for (let n = 0; n < 6; n++) await write(`Glaze number ${n}.`)
  const notes = (input: object) => home.kernel.invoke('notes.list', { id, ...input }) as Promise<{ note_id: string }[]>
  expect(await notes({})).toHaveLength(7)
  expect(await notes({ query: 'pottery KILN' })).toMatchObject([
    { note_id: kiln, text: 'The kiln is hot.\nKeep away.', tags: ['pottery'] },
  ])
  expect(await notes({ limit: 2, offset: 6 })).toMatchObject([{ note_id: kiln }])
  expect((await home.kernel.use(Memory).of(id).peek(kiln))?.access_count).toBe(0)
})
