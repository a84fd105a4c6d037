import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Memory } from '#core/memory/contract'
import memory from '#core/memory/index'
import metrics from '#observability/metrics/index'
import { addCounts, readCounts } from '#observability/metrics/repository'
import daemon from '#platform/daemon/index'
import { Store } from '#platform/store/contract'
import { FAST, project } from '../cli/project.ts'
import { asksForGoal, detail, goalsOf, spawn, testHostWithModel } from '../spec/core/models/model-host.ts'
import { svc as cold, RunningSvc } from '../support/cli.ts'
import { testHost, text, toolCall, until } from '../support/index.ts'
import { cluster, postgresOr, testDatabase } from '../support/postgres.ts'
import { svc } from '../support/vitest/warm.ts'

const server = await postgresOr(reason => console.warn(`PostgreSQL is left out: ${reason}`))

const HOOK = join(import.meta.dirname, '../faults/kills/crash-hook.js')
const OBJECTIVE = "Find the red key in Björn's garden ☃"

it.skipIf(!server)(
  'a project moves from its file into a database once, with goals, costs, memories and counts',
  async () => {
    const database = await testDatabase(server!)
    const modules = [cluster, memory, daemon, metrics]
    const counts = { 'of this test': 4 }
    const script = (request: { prompt: string }) =>
      asksForGoal(request as never)
        ? text(JSON.stringify({ goal: OBJECTIVE, reasoning: 'because' }))
        : toolCall('finish_goal', { summary: "It was under the 'third' stone", evidence: [] })
    try {
      await using before = await testHostWithModel(script as never, {
        builtins: modules,
        roles: ['server'],
        env: { SVC_STORE_URL: '' },
      })
      const id = await spawn(before)
      before.kernel.heartbeat.start()
      await until(before, 'goal_completed')
      await before.kernel.heartbeat.stop()
      await before.kernel.use(Memory).of(id).store('The shed is green')
      for (let n = 0; n < 2; n++) await before.kernel.use(Store).apply([addCounts({ counts })])
      const seq = await before.kernel.use(Store).get<{ seq: number }>('SELECT max(seq) AS seq FROM events')

      const move = () => before.kernel.invoke('cluster.move', { to: database.url })
      expect(await move()).toMatchObject({ tables: expect.any(Number), files: expect.any(Number) })
      await expect(move()).rejects.toMatchObject({ code: 'target_in_use' })

      await using after = await testHost({
        builtins: [...(await import('../spec/core/models/model-host.ts')).AGENT_MODULES, ...modules],
        roles: ['server'],
        env: { SVC_STORE_URL: database.url },
        seed: before.seed + 1,
        files: { 'profiles/worker.yaml': 'name: worker\nrole: does what the script says\n' },
      })
      expect(await goalsOf(after, id)).toEqual(await goalsOf(before, id))
      expect((await goalsOf(after, id))[0]?.objective).toBe(OBJECTIVE)
      expect((await detail(after, id)).cost_usd).toBe((await detail(before, id)).cost_usd)
      expect((await after.kernel.use(Memory).of(id).search('shed')).map(({ thought }) => thought)).toEqual([
        'The shed is green',
      ])
      await after.kernel.use(Store).apply([addCounts({ counts })])
      expect(await readCounts(after.kernel.use(Store))).toMatchObject({ 'of this test': 12 })
      const another = await spawn(after)
      expect(another).not.toBe(id)
      const next = await after.kernel.use(Store).get<{ seq: number }>('SELECT max(seq) AS seq FROM events')
      expect(next!.seq).toBeGreaterThan(seq!.seq)
      await expect(after.kernel.invoke('cluster.move', { to: database.url })).rejects.toMatchObject({
        code: 'already_moved',
      })
    } finally {
      await database.drop()
    }
  },
)

it.skipIf(!server)(
  'a move that is killed continues when repeated, in both directions; a backup is restored on either side',
  async () => {
    const database = await testDatabase(server!)
    await using dir = await project(FAST)
    const { path: cwd } = dir
    const killAt = async (words: string[], point: string) => {
      const crash = { SVC_CRASH_AT: point, NODE_OPTIONS: `--import=${HOOK}` }
      expect((await cold(words, { cwd, env: crash })).code, point).toBeNull()
    }
    const stdoutOf = async (...words: string[]) => {
      const { code, stdout, stderr } = await svc(words, { cwd })
      expect([code, stderr]).toEqual([0, ''])
      return stdout
    }
    const names = async () =>
      (JSON.parse(await stdoutOf('status', '--json')) as { name: string }[]).map(({ name }) => name)
    const memoryOf = (id: string) => join(cwd, '.svc/memory', id, 'memories.jsonl')
    try {
      const { agent_id } = JSON.parse(await stdoutOf('spawn', 'coder', '--json')) as { agent_id: string }
      const line = `${JSON.stringify({ memory_id: 'mem-1', thought: 'the shed is green', ts: '2026-01-01T00:00:00Z' })}\n`
      await dir.write({ [`.svc/memory/${agent_id}/memories.jsonl`]: line })

      await using web = new RunningSvc(['serve', '--port', '0'], { cwd })
      await web.waitForOutput(/http:/)
      const refused = await svc(['db', 'move', '--to', database.url], { cwd })
      expect(refused.code).toBe(1)
      expect(refused.stderr).toContain(`in use by process ${web.pid}`)
      const waiting = killAt(['db', 'move', '--to', database.url, '--wait'], 'rows copied agents')
      expect(await web.end('SIGTERM')).toBe(0)
      await waiting
      const early = await svc(['status'], { cwd, env: { SVC_STORE_URL: database.url } })
      expect(early.stderr).toContain('contains an unfinished copy')
      await killAt(['db', 'move', '--to', database.url], 'rows copied leases')
      expect(await stdoutOf('db', 'move', '--to', database.url, '--switch')).toContain('and compared')
      await rm(join(cwd, '.svc/memory'), { recursive: true })
      expect(await readFile(join(cwd, '.svc/config.yaml'), 'utf8')).toContain(database.url)

      await stdoutOf('spawn', 'writer')
      expect(await stdoutOf('db', 'backup', 'copy.db')).toContain('checked')
      expect(await stdoutOf('db', 'check')).toContain('is intact')
      await stdoutOf('spawn', 'tester')
      expect(await stdoutOf('db', 'restore', 'copy.db')).toContain('is kept as')
      expect(await names()).toEqual(['coder', 'writer'])

      await using daemon = new RunningSvc(['serve', '--with-daemon', '--port', '0'], { cwd })
      await daemon.waitForOutput(/^Logs: /m)
      expect((await svc(['db', 'move', '--back'], { cwd })).stderr).toContain(`PID ${daemon.pid}`)
      // What a killed daemon leaves behind does not count as a process at work.
      await daemon.end('SIGKILL')
      await using server = new RunningSvc(['serve', '--port', '0'], { cwd })
      await server.waitForOutput(/http:/)
      expect((await svc(['db', 'move', '--back'], { cwd })).stderr).toMatch(new RegExp(`in use by \\S+:${server.pid} `))
      expect(await server.end('SIGTERM')).toBe(0)

      await killAt(['db', 'move', '--back'], 'rows copied agents')
      await killAt(['db', 'move', '--back'], 'database filled')
      expect(await stdoutOf('db', 'move', '--back', '--switch')).toContain('is kept as')
      expect(await readFile(join(cwd, '.svc/config.yaml'), 'utf8')).not.toContain('postgres')
      expect(await names()).toEqual(['coder', 'writer'])
      expect(await readFile(memoryOf(agent_id), 'utf8')).toBe(line)

      await rm(join(cwd, '.svc/memory'), { recursive: true })
      await stdoutOf('db', 'restore', 'copy.db')
      expect(await names()).toEqual(['coder', 'writer'])
      expect(await readFile(memoryOf(agent_id), 'utf8')).toBe(line)
      expect(
        (await readdir(join(cwd, '.svc'))).filter(name => /moving|unpacking|^\.(backup|restore)/.test(name)),
      ).toEqual([])
    } finally {
      await database.drop()
    }
  },
)
