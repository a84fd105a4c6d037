import { mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import agents from '#core/agents/index'
import models from '#core/models/index'
import profiles from '#core/profiles/index'
import rest from '#interfaces/rest/index'
import { describeEvent } from '#lib/event-text'
import events from '#observability/events/index'
import { Journal } from '#observability/events/journal'
import { appendEvent, type EventEnvelope, Store } from '#platform/store/contract'
import store from '#platform/store/index'
import { ask, listen } from '../../interfaces/rest/rest-server.ts'
import { sse } from '../../interfaces/sse.ts'
import { type TestHost, type TestHostOptions, tempDir, testHost, until } from '../../support/index.ts'

const MODULES = [store, models, profiles, agents]
const ALL_MODULES = [...MODULES, events, rest]

/** Starts a test host with an HTTP server, on the system clock. */
async function startServer(options: TestHostOptions = {}) {
  const home = await testHost({ builtins: ALL_MODULES, roles: ['server'], clock: 'system', ...options })
  return Object.assign(home, await listen(home.kernel))
}

const happen = ({ kernel }: TestHost, n: number, agent_id: string | null = 'a-1', type = 'tested') =>
  kernel.use(Store).apply(Array.from({ length: n }, (_, i) => appendEvent({ type, agent_id, data: { i } })))
const seqs = (messages: readonly { event: string; id?: string }[]) =>
  messages.flatMap(({ event, id }) => (event === 'message' ? [Number(id)] : []))

describe('GET /events', () => {
  it('begins with an `open` message, then delivers each event as it is committed', async () => {
    await using home = await startServer()
    await happen(home, 3)
    const client = await sse(`${home.url}/events`)
    expect(await client.has(1)).toEqual([{ id: '3', event: 'open', data: { after: 3 } }])
    for (let n = 2; n < 12; n++) {
      await happen(home, 1)
      await client.has(n)
    }
    expect(seqs(client.messages)).toEqual([4, 5, 6, 7, 8, 9, 10, 11, 12, 13])
    const message = client.messages.at(-1)!
    expect(message.data).toMatchObject({ seq: 13, type: 'tested', v: 1, agent_id: 'a-1', data: { i: 0 } })
    expect(message.data.at).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/)
  })

  it('reports changes without an event to clients that request notices', async () => {
    await using home = await startServer()
    await using other = await testHost({ builtins: ALL_MODULES, roles: ['cli'], clock: 'system', root: home.root })
    const client = await sse(`${home.url}/events?notices=true`)
    const plain = await sse(`${home.url}/events`)
    const notices = () => client.messages.filter(({ event }) => event === 'notice')
    await client.has(1)
    const { agent_id } = (await other.kernel.invoke('agents.spawn', { preset: 'coder' })) as { agent_id: string }
    const isIdle = { type: 'status_changed', data: { daemon: 'stopped', plugins: 0, agents: { idle: 1, paused: 0 } } }
    await until(() => notices().length === 1)
    expect(notices()[0]).toMatchObject({ data: isIdle })
    expect(notices()[0]).not.toHaveProperty('id')
    await other.kernel.invoke('agents.pause', { id: agent_id })
    await until(() => notices().length === 2)
    expect(notices()[1]).toMatchObject({ data: { data: { agents: { idle: 0, paused: 1 } } } })
    await home.kernel.hooks.emit('config_changed', { keys: ['daemon.heartbeat'] })
    await until(() => notices().length === 3)
    expect(notices()[2]).toMatchObject({ data: { type: 'config_changed', data: { keys: ['daemon.heartbeat'] } } })
    expect(plain.messages.some(({ event }) => event === 'notice')).toBe(false)
    expect(seqs(client.messages)).toEqual(seqs(plain.messages))
  })

  it('delivers what another process commits', async () => {
    await using home = await startServer()
    await using other = await testHost({ builtins: ALL_MODULES, roles: ['cli'], clock: 'system', root: home.root })
    const client = await sse(`${home.url}/events`)
    await client.has(1)
    await happen(other, 2)
    await client.has(3)
    expect(seqs(client.messages)).toEqual([1, 2])
  })

  it('resumes after `Last-Event-ID`, which takes precedence over `after`', async () => {
    await using home = await startServer()
    await happen(home, 5)
    const from = async (query: string, headers = {}) => {
      const client = await sse(`${home.url}/events?follow=false${query}`, { headers })
      return seqs(await client.end())
    }
    expect(await from('&after=0')).toEqual([1, 2, 3, 4, 5])
    expect(await from('&after=3')).toEqual([4, 5])
    expect(await from('&after=0', { 'last-event-id': '4' })).toEqual([5])
    expect(await from('&last=2')).toEqual([4, 5])
    expect(await from('&last=9')).toEqual([1, 2, 3, 4, 5])
    expect(await from('')).toEqual([])
    expect(await from('&after=999999')).toEqual([])
  })

  it('starts with the newest matching events of `last`, however old they are', async () => {
    await using home = await startServer()
    const { agent_id } = (await home.kernel.invoke('agents.spawn', { preset: 'coder' })) as { agent_id: string }
    await happen(home, 3, agent_id)
    await happen(home, 2500)
    const from = async (query: string) =>
      (await (await sse(`${home.url}/events?follow=false${query}`)).end()).flatMap(({ data }) => data.seq ?? [])
    const of = { agent_id, type: 'tested' }
    const all = (await home.kernel.invoke('events.list', { id: agent_id, type: ['tested'] })) as EventEnvelope[]
    const seqs = all.map(({ seq }) => seq).reverse()
    expect(await from(`&${new URLSearchParams({ ...of, last: '2' })}`)).toEqual(seqs.slice(1))
    expect(await from(`&${new URLSearchParams({ ...of, last: '20' })}`)).toEqual(seqs)
    expect(await from('&type=agent_spawned&last=1')).toHaveLength(1)
    expect(await from('&type=nothing_of_this&last=1')).toEqual([])
  })

  it.each(['x', '-1', '1.5', '1e3', '99999999999999999999'])('rejects an invalid Last-Event-ID: %s', async id => {
    await using home = await startServer()
    const answer = await ask({ port: home.port, path: '/events', headers: { 'last-event-id': id } })
    expect([answer.status, answer.json.errors[0].path]).toEqual([422, 'Last-Event-ID'])
  })

  it('can be filtered by agent and by types', async () => {
    await using home = await startServer()
    for (const agent of ['a-1', 'a-2', null]) for (const type of ['x', 'y', 'z']) await happen(home, 1, agent, type)
    const from = async (query: string) =>
      seqs(await (await sse(`${home.url}/events?follow=false&after=0&${query}`)).end())
    expect(await from('agent_id=a-2')).toEqual([4, 5, 6])
    expect(await from('type=x&type=z')).toEqual([1, 3, 4, 6, 7, 9])
    expect(await from('agent_id=a-1&type=y')).toEqual([2])
  })

  it('answers 404 for an agent that is unknown and left no events', async () => {
    await using home = await startServer()
    const answer = await ask({ port: home.port, path: '/events?agent_id=nobody' })
    expect([answer.status, answer.json.code]).toEqual([404, 'agent_not_found'])
  })

  it('survives server restarts without lost or duplicate events', async () => {
    await using dir = await tempDir()
    await using writer = await testHost({ builtins: ALL_MODULES, roles: ['cli'], clock: 'system', root: dir.path })
    let writing = true
    const written = (async () => {
      for (let n = 0; writing; n++) {
        await happen(writer, 1 + (n % 3))
        await new Promise(setImmediate)
      }
    })()
    const seen: number[] = []
    let last = '0'
    for (let round = 0; round < 5; round++) {
      const home = await startServer({ root: dir.path })
      const client = await sse(`${home.url}/events`, { headers: { 'last-event-id': last } })
      await client.has(50)
      await home.close()
      const messages = await client.end()
      seen.push(...seqs(messages))
      last = messages.findLast(({ id }) => id !== undefined)!.id!
    }
    writing = false
    await written
    expect(seen).toEqual(Array.from(seen, (_, n) => n + 1))
    expect(seen.length).toBeGreaterThan(200)
  })

  it('serves 200 waiting clients with as few database queries as one', async () => {
    await using home = await startServer()
    const clients = await Promise.all(Array.from({ length: 200 }, () => sse(`${home.url}/events`)))
    await Promise.all(clients.map(client => client.has(1)))
    let asked = 0
    const used = home.kernel.use(Store)
    const get = used.get.bind(used)
    used.get = (sql, params) => {
      asked++
      return get(sql, params)
    }
    const began = performance.now()
    await until(() => performance.now() - began > 500)
    expect(asked).toBeLessThan(15)
    await happen(home, 1)
    await Promise.all(clients.map(client => client.has(2)))
  })

  it('reads a long log in chunks that do not block the event loop', async () => {
    await using home = await startServer()
    for (let n = 0; n < 20; n++) await happen(home, 1000, 'a-1', 'common')
    await happen(home, 1, 'a-1', 'rare')
    let lag = 0
    let at = performance.now()
    const watch = setInterval(() => {
      lag = Math.max(lag, performance.now() - at - 5)
      at = performance.now()
    }, 5)
    const client = await sse(`${home.url}/events?after=0&type=rare&follow=false`)
    expect(seqs(await client.end())).toEqual([20_001])
    clearInterval(watch)
    expect(lag).toBeLessThan(100)
  })
})

describe('GET /agents/{id}/events', () => {
  it('returns a page, newest first, with the total and a link to the next page', async () => {
    await using home = await startServer()
    await happen(home, 5)
    await happen(home, 2, 'a-2')
    const page = await ask({ port: home.port, path: '/agents/a-1/events?limit=2&offset=1&type=tested' })
    expect(page.json.map(({ seq }: EventEnvelope) => seq)).toEqual([4, 3])
    expect(page.headers['x-total-count']).toBe('5')
    expect(page.headers.link).toBe('</agents/a-1/events?limit=2&offset=3&type=tested>; rel="next"')
  })

  it('still returns the events of a deleted agent', async () => {
    await using home = await startServer({ files: { 'profiles/worker.yaml': 'name: worker\nrole: works\n' } })
    const { agent_id } = (await home.kernel.invoke('agents.spawn', { preset: 'worker' })) as { agent_id: string }
    await home.kernel.invoke('agents.delete', { id: agent_id })
    const { json } = await ask({ port: home.port, path: `/agents/${agent_id}/events` })
    expect(json.map(({ type }: EventEnvelope) => type)).toEqual(['agent_deleted', 'agent_spawned'])
    expect((await ask({ port: home.port, path: '/agents/nobody/events' })).status).toBe(404)
  })
})

describe('the event log', () => {
  const logOf = (root: string, agent: string) => join(root, '.svc/sessions', agent, 'events.jsonl')
  const linesOf = async (file: string) =>
    (await readFile(file, 'utf8'))
      .split('\n')
      .slice(0, -1)
      .map(line => (JSON.parse(line) as EventEnvelope).seq)
  /** Runs a daemon until its event log is written and closed. */
  const writeLog = async (root: string, work: (home: TestHost) => Promise<unknown>) => {
    const home = await testHost({ builtins: [...MODULES, events], root })
    await work(home)
    await home.close()
    return home
  }

  it('has one line for each event, in one file per agent that only its owner may read', async () => {
    await using dir = await tempDir()
    await writeLog(dir.path, async home => {
      await happen(home, 2)
      await happen(home, 1, 'a-2')
      await happen(home, 1, null)
      await home.clock.advance(1_000)
      await until(async () => (await linesOf(logOf(dir.path, '_service')).catch(() => [])).length === 1)
      await happen(home, 1)
    })
    expect(await linesOf(logOf(dir.path, 'a-1'))).toEqual([1, 2, 5])
    expect(await linesOf(logOf(dir.path, 'a-2'))).toEqual([3])
    expect((await stat(logOf(dir.path, 'a-1'))).mode & 0o777).toBe(0o600)
    const [line] = (await readFile(logOf(dir.path, 'a-2'), 'utf8')).split('\n')
    expect(JSON.parse(line!)).toMatchObject({ seq: 3, type: 'tested', v: 1, agent_id: 'a-2', data: { i: 0 } })
  })

  it('resumes after a line that was cut off anywhere, without lost or duplicate lines', async () => {
    await using dir = await tempDir()
    await writeLog(dir.path, home => happen(home, 3))
    const file = logOf(dir.path, 'a-1')
    const whole = await readFile(file)
    const third = whole.lastIndexOf(10, whole.length - 2) + 1
    for (let cut = third; cut < whole.length; cut += 7) {
      await truncate(file, cut)
      const home = await writeLog(dir.path, fixture => happen(fixture, 1))
      const all = await linesOf(file)
      expect(all).toEqual(Array.from(all, (_, n) => n + 1))
      expect(home.logged('was not a readable line')).toHaveLength(cut === third ? 0 : 1)
    }
    expect(await readFile(`${file}.corrupt`, 'utf8')).toContain('"seq":3')
  })

  it.each([
    ['a block of zeros', Buffer.alloc(512)],
    ['half a character', Buffer.from([0xe2, 0x82])],
    ['a line that is no JSON', Buffer.from('{"seq":\n')],
  ])('moves %s at its end to another file, with one warning', async (_, rubbish) => {
    await using dir = await tempDir()
    await writeLog(dir.path, home => happen(home, 2))
    const file = logOf(dir.path, 'a-1')
    await writeFile(file, rubbish, { flag: 'a' })
    const home = await writeLog(dir.path, async fixture => {
      await happen(fixture, 1)
      await fixture.clock.advance(1_000)
      await happen(fixture, 1)
    })
    expect(await linesOf(file)).toEqual([1, 2, 3, 4])
    expect(home.logged('was not a readable line')).toHaveLength(1)
    expect((await readFile(`${file}.corrupt`)).subarray(0, rubbish.length)).toEqual(rubbish)
  })

  it('is rebuilt from the database after a loss', async () => {
    await using dir = await tempDir()
    await writeLog(dir.path, home => happen(home, 1500))
    await rm(join(dir.path, '.svc/sessions'), { recursive: true })
    await writeLog(dir.path, home => happen(home, 1))
    expect(await linesOf(logOf(dir.path, 'a-1'))).toEqual(Array.from({ length: 1501 }, (_, n) => n + 1))
  })

  it('falls behind while it cannot be written, warns once and catches up', async () => {
    await using dir = await tempDir()
    await mkdir(join(dir.path, '.svc'), { recursive: true })
    await writeFile(join(dir.path, '.svc/sessions'), 'in the way')
    const home = await writeLog(dir.path, async fixture => {
      for (let n = 0; n < 3; n++) {
        await happen(fixture, 1)
        await fixture.clock.advance(1_000)
      }
      await until(() => fixture.logged('cannot write the event log').length > 0)
      await rm(join(dir.path, '.svc/sessions'))
      await fixture.clock.advance(1_000)
    })
    expect(home.logged('cannot write the event log')).toHaveLength(1)
    expect(await linesOf(logOf(dir.path, 'a-1'))).toEqual([1, 2, 3])
  })

  it('starts a new file when the current one is large, and keeps four old ones', async () => {
    await using dir = await tempDir()
    const { promises: files } = await import('node:fs')
    const path = join(dir.path, 'events')
    const journal = () => new Journal({ files, path, warn: () => {}, rotateBytes: 50 })
    for (let seq = 1; seq <= 40; seq++) await journal().append([{ seq }], false)
    expect((await readdir(dir.path)).sort()).toEqual([
      'events.1.jsonl',
      'events.2.jsonl',
      'events.3.jsonl',
      'events.4.jsonl',
      'events.jsonl',
    ])
    expect(await journal().last()).toBe(40)
    await rm(`${path}.jsonl`)
    expect(await journal().last()).toBeGreaterThan(30)
  })

  it('syncs writes to disk when event_log_fsync is set', async () => {
    await using dir = await tempDir()
    const synced: boolean[] = []
    const fs = (await import('node:fs')).promises
    const files = {
      ...fs,
      open: async (...args: Parameters<typeof fs.open>) => {
        const handle = await fs.open(...args)
        const datasync = handle.datasync.bind(handle)
        handle.datasync = () => {
          synced.push(true)
          return datasync()
        }
        return handle
      },
    } as typeof fs
    for (const event_log_fsync of [false, true]) {
      const home = await testHost({
        builtins: [...MODULES, events],
        root: dir.path,
        config: { event_log_fsync },
        ports: { files },
      })
      await happen(home, 1)
      await home.close()
    }
    expect(synced).toEqual([true])
  })

  it('refuses to start with SVC_EVENT_LOG_FSYNC=maybe and names the variable', async () => {
    const opening = testHost({ builtins: [...MODULES, events], env: { SVC_EVENT_LOG_FSYNC: 'maybe' } })
    await expect(opening).rejects.toThrow(/SVC_EVENT_LOG_FSYNC/)
  })
})

it.each([
  ['agent_imported', { was: 'coder-1' }, 'was imported from coder-1'],
  [
    'schedule_skipped',
    { slots: 2, reason: 'the agent is paused' },
    'skipped 2 runs of its schedule: the agent is paused',
  ],
  ['stressor_added', { stressor: 'financial_strain', severity: 0.4, note: '' }, 'is burdened by financial strain'],
  ['delegation_ended', { delegation_id: 'dlg-1', to_agent: 'beta-1', status: 'failed' }, 'dlg-1 to beta-1: failed'],
  ['sub_agent_ended', { sub_agent_id: 'sub-1', status: 'timed_out' }, 'its sub-agent sub-1 has ended: timed out'],
  [
    'context_compacted',
    { how: 'digest', window: 8192 },
    'shortened its conversation (digest) for a window of 8,192 tokens',
  ],
  [
    'budget_tight',
    { spent_usd: 0, spent_tokens: 55_081, needed_usd: 0, needed_tokens: 7178 },
    'the budget is too tight for a call that may cost $0.0000 and 7,178 tokens',
  ],
  [
    'guardrail_hit',
    { kinds: ['email'], stage: 'tool_result', action: 'redact' },
    'a guardrail found email in its tool result (redact)',
  ],
  ['retention_done', { before: '2026-01-01', rows: {}, total: 1 }, 'retention removed 1 old record'],
  ['stressor_eased', { stressor: 'financial_strain', note: 'paid' }, 'is relieved of financial strain: paid'],
])('%s is described in a sentence', (type, data, sentence) => {
  expect(describeEvent(type, data)).toBe(sentence)
})
