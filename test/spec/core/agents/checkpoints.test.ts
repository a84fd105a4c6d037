import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type CheckpointChange,
  type CheckpointPart,
  CheckpointParts,
  type CheckpointSummary,
} from '#core/checkpoints/contract'
import checkpoints from '#core/checkpoints/index'
import rest from '#interfaces/rest/index'
import { definePlugin, z } from '#kernel'
import daemon from '#platform/daemon/index'
import { Retention } from '#platform/retention/contract'
import retention from '#platform/retention/index'
import { type EventEnvelope, Store, setValue } from '#platform/store/contract'
import { tool } from '#tools/toolkits/contract'
import { listen } from '../../../interfaces/rest/rest-server.ts'
import { ageIn, namesIn, ON_POSTGRES, textBehind } from '../../../support/direct-access.ts'
import { runHeartbeat, type TestHost, tempDir, toolCall, until, waitUntilIdle } from '../../../support/index.ts'
import { together } from '../../../support/model/model-server.ts'
import { finish, goalAnswer, pending, testHostWithApprovals, waitForPendingCall } from '../../safety/approvals-host.ts'
import { asksForGoal, detail, goalsOf, spawn, testHostWithModel } from '../models/model-host.ts'
import { checkpointsOf, keeping, leaveTraces, PART_MODULES, standing } from './checkpoints-host.ts'

const eventsOf = async ({ kernel }: TestHost, type: string): Promise<EventEnvelope[]> =>
  (await kernel.use(Store).events(0, 10_000)).filter(event => event.type === type)
const folder = (id: string) => `checkpoints/${id}`
const labels = (all: readonly CheckpointSummary[]) => all.map(({ label }) => label)

/** A module whose checkpoint part is any JSON that a test sets. */
const anything = definePlugin({
  name: 'anything',
  needs: ['store'],
  setup(svc) {
    const namespace = 'anything'
    const part: CheckpointPart<{ it: unknown }> = {
      name: namespace,
      schema: z.object({ it: z.unknown() }),
      async capture(key) {
        const sql = 'SELECT value FROM plugin_values WHERE namespace = ? AND key = ?'
        const row = await svc.use(Store).get<{ value: string }>(sql, [namespace, key])
        return row && { it: JSON.parse(row.value) as unknown }
      },
      restore: async (key, value) => [setValue({ namespace, key, value: value?.it })],
    }
    svc.add(CheckpointParts, part as CheckpointPart)
  },
})

describe('a checkpoint', () => {
  it('restores goals, suffering, identity and world exactly, and saves the state before the restore', async () => {
    await using home = await keeping()
    const id = await spawn(home)
    await leaveTraces(home, id, 'bees')
    const [first] = await goalsOf(home, id)
    const then = await standing(home, id)
    expect(Object.keys(then).sort()).toEqual(['goals', 'identity', 'suffering', 'world'])
    expect(Object.values(then)).not.toContain(null)
    const checkpoint = await checkpointsOf(home).save(id, 'with bees')

    home.clock.jump(3_600_000)
    await leaveTraces(home, id, 'honey and wax')
    await home.kernel.invoke('goals.abandon', { goal_id: first!.goal_id })
    const later = await standing(home, id)
    expect(later).not.toEqual(then)

    const { before, left_out } = await checkpointsOf(home).restore(id, checkpoint)
    expect(left_out).toEqual([])
    expect(await standing(home, id)).toEqual(then)
    expect((await detail(home, id)).goal).toBe('Think about bees')
    expect(await goalsOf(home, id)).toMatchObject([
      { objective: 'Think about honey and wax', status: 'abandoned', result: expect.stringContaining('checkpoint') },
      { goal_id: first!.goal_id, status: 'active', result: null, completed_at: null },
    ])
    expect(await eventsOf(home, 'checkpoint_restored')).toMatchObject([
      { agent_id: id, data: { checkpoint_id: checkpoint, before } },
    ])

    await checkpointsOf(home).restore(id, before)
    expect(await standing(home, id)).toEqual(later)
  })

  it('of an agent without any data removes the data that exists when it is restored', async () => {
    await using home = await keeping()
    const id = await spawn(home)
    const empty = await checkpointsOf(home).save(id, '')
    await leaveTraces(home, id, 'bees')
    await checkpointsOf(home).restore(id, empty)
    expect(await standing(home, id)).toMatchObject({ goals: null, suffering: null, identity: null })
  })

  it('contains any JSON of a module unchanged, and its diff turns one state into the other', async () => {
    await using home = await keeping({ builtins: [anything] })
    const id = await spawn(home)
    const set = (value: unknown) =>
      home.kernel
        .use(Store)
        .apply([setValue({ namespace: 'anything', key: id, value: JSON.parse(JSON.stringify(value)) })])
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.jsonValue(), async (a, b) => {
        await set(a)
        const first = await checkpointsOf(home).save(id, 'a')
        const was = await checkpointsOf(home).get(id, first)
        await set(b)
        const now = await checkpointsOf(home).now(id)
        expect(applyChanges(was.parts, checkpointsOf(home).diff(was, now))).toEqual(
          JSON.parse(JSON.stringify(now.parts)),
        )
        await checkpointsOf(home).restore(id, first)
        expect(await standing(home, id)).toEqual(was.parts)
        expect(checkpointsOf(home).diff(was, await checkpointsOf(home).now(id))).toEqual([])
      }),
      { numRuns: 25 },
    )
  })

  it('restores any goals and conversations in place of those that exist now', async () => {
    await using home = await keeping()
    const id = await spawn(home)
    const message = fc.oneof(
      fc.record({ role: fc.constantFrom('user', 'assistant'), content: fc.string({ unit: 'grapheme' }) }),
      fc.record({ role: fc.constant('tool'), content: fc.string(), tool_call_id: fc.string() }),
    )
    const goal = fc.record({
      objective: fc.string({ minLength: 1 }),
      priority: fc.integer({ min: 0, max: 9 }),
      origin: fc.constantFrom('operator', 'schedule'),
      parent_goal_id: fc.constant(null),
      reasoning: fc.option(fc.string()),
      steps_completed: fc.nat(50),
      created_at: fc.nat(),
      transcript: fc
        .array(message, { maxLength: 6 })
        .map(all => all.map((each, seq) => ({ seq: seq * 2, message: each, at: seq }))),
    })
    const goals = fc.dictionary(fc.stringMatching(/^goal-[0-9a-f]{8}$/), goal, { maxKeys: 4 })
    await fc.assert(
      fc.asyncProperty(goals, async some => {
        const wanted = Object.keys(some).length > 0 ? { ...some } : undefined
        const checkpoint = await checkpointsOf(home).save(id, '', undefined, undefined, { goals: wanted ?? {} })
        await checkpointsOf(home).restore(id, checkpoint)
        expect((await standing(home, id)).goals).toEqual(wanted ? JSON.parse(JSON.stringify(wanted)) : null)
      }),
      { numRuns: 25 },
    )
  })

  it('lets a goal continue from its conversation at that time', async () => {
    let answer = () => toolCall('list_dir', {})
    await using home = await testHostWithModel(
      request => (asksForGoal(request) ? goalAnswer('Look around') : answer()),
      {
        builtins: [checkpoints],
        files: { 'profiles/worker.yaml': 'name: worker\nrole: looks\nmax_steps: 2\n' },
      },
    )
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_max_steps')
    await waitUntilIdle(home)
    const checkpoint = await checkpointsOf(home).save(id, 'two steps in')
    const seen = home.server.requests.at(-1)!.body.messages.length
    answer = () => finish('all seen')
    await runHeartbeat(home)
    await until(async () => (await goalsOf(home, id))[0]?.status === 'completed')
    await waitUntilIdle(home)

    await checkpointsOf(home).restore(id, checkpoint)
    const before = home.server.requests.length
    await runHeartbeat(home)
    await until(async () => (await goalsOf(home, id))[0]?.status === 'completed')
    const again = home.server.requests[before]!
    expect(again.body.messages.filter(({ role }) => role === 'tool')).toHaveLength(2)
    expect(again.body.messages.length).toBeGreaterThan(seen)
    // After that, the scripted agent may choose the same goal again.
    expect((await goalsOf(home, id)).at(-1)).toMatchObject({ result: 'all seen', steps_completed: 3 })
  })

  it('aborts a running cycle when it is restored, and nothing that the cycle does afterwards is written', async () => {
    let release = () => {}
    const held = new Promise<void>(resolve => {
      release = resolve
    })
    await using home = await testHostWithModel(
      async request => {
        if (asksForGoal(request)) return goalAnswer('Wait for me')
        await held
        return finish('done after all')
      },
      { builtins: [checkpoints] },
    )
    const id = await spawn(home)
    const checkpoint = await checkpointsOf(home).save(id, 'new')
    home.kernel.heartbeat.start()
    await until(() => home.server.requests.some(request => !asksForGoal(request)))
    expect((await detail(home, id)).status).toBe('working')
    const ended = until(home, 'cycle_end')
    await checkpointsOf(home).restore(id, checkpoint)
    release()
    expect(await ended).toMatchObject({ result: 'fenced' })
    expect((await goalsOf(home, id)).filter(({ status }) => status === 'completed')).toEqual([])
  })

  it('taken during a call does not run the calls after it again that began before it was restored', async () => {
    const runs: string[] = []
    const release: (() => void)[] = []
    const slow = (name: string) => {
      const execute = async () => {
        runs.push(name)
        await new Promise<void>(resolve => void release.push(resolve))
        return 'sent'
      }
      return tool({ name, description: 'Sends.', parameters: z.object({}), execute })
    }
    const sends = definePlugin({
      name: 'sends',
      setup: svc => svc.toolkit({ name: 'sends', everyday: true, tools: [slow('first'), slow('second')] }),
    })
    await using home = await testHostWithModel(
      request => {
        if (asksForGoal(request)) return goalAnswer(runs.length === 0 ? 'Send both letters' : '')
        return request.prompt.includes('unknown') ? finish() : together(toolCall('first'), toolCall('second'))
      },
      { builtins: [checkpoints, sends] },
    )
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(() => runs.length === 1)
    const checkpoint = await checkpointsOf(home).save(id, 'during the first')
    release[0]!()
    await until(() => runs.length === 2)
    await checkpointsOf(home).restore(id, checkpoint)
    release[1]!()
    await runHeartbeat(home)
    await until(async () => (await goalsOf(home, id))[0]?.status === 'completed')
    expect(runs).toEqual(['first', 'second'])
  })

  it('closes approvals that only later calls wait for when it is restored', async () => {
    await using home = await testHostWithApprovals([toolCall('send', { to: 'all' }), finish()], {
      builtins: [checkpoints],
    })
    await waitForPendingCall(home)
    const waiting = await checkpointsOf(home).save(home.id, 'it asks')
    await checkpointsOf(home).restore(home.id, waiting)
    expect(await pending(home)).toHaveLength(1)
    const goals = (await standing(home, home.id)).goals as Record<string, { transcript: unknown[] }>
    const begun = Object.fromEntries(Object.entries(goals).map(([key, goal]) => [key, { ...goal, transcript: [] }]))
    const earlier = await checkpointsOf(home).save(home.id, 'earlier', undefined, undefined, { goals: begun })
    await checkpointsOf(home).restore(home.id, earlier)
    expect(await pending(home)).toEqual([])
    expect((await detail(home, home.id)).status).not.toBe('waiting_approval')
  })

  it("accepts the caller's values for modules, and refuses what a module does not accept", async () => {
    await using home = await keeping({ builtins: [anything] })
    const id = await spawn(home)
    await leaveTraces(home, id, 'bees')
    const { suffering } = await standing(home, id)
    const given = { ...(suffering as object), refusals: 3 }
    const taken = await checkpointsOf(home).get(
      id,
      await checkpointsOf(home).save(id, 'given', given, undefined, { anything: { it: 7 } }),
    )
    expect(taken.parts).toMatchObject({ suffering: { refusals: 3 }, anything: { it: 7 } })
    await expect(checkpointsOf(home).save(id, 'bad', { load: 'heavy' })).rejects.toMatchObject({
      code: 'invalid_input',
    })
  })

  it('names the parts whose module is missing when it is restored', async () => {
    await using dir = await tempDir()
    let id = ''
    let checkpoint = ''
    {
      await using home = await keeping({ root: dir.path, builtins: [anything] })
      id = await spawn(home)
      await home.kernel.use(Store).apply([setValue({ namespace: 'anything', key: id, value: 1 })])
      checkpoint = await checkpointsOf(home).save(id, '')
    }
    await using home = await keeping({ root: dir.path })
    expect((await checkpointsOf(home).restore(id, checkpoint)).left_out).toEqual(['anything'])
  })

  it('leaves a paused agent paused, and is not restored to a dead one', async () => {
    await using home = await keeping()
    const id = await spawn(home)
    const checkpoint = await checkpointsOf(home).save(id, '')
    await home.kernel.invoke('agents.pause', { id })
    await checkpointsOf(home).restore(id, checkpoint)
    expect((await detail(home, id)).status).toBe('paused')
    await home.kernel.invoke('agents.resume', { id })
    expect((await detail(home, id)).status).toBe('idle')
    await home.kernel.use(Store).apply(home.kernel.use((await import('#core/agents/contract')).Agents).markDead(id))
    await expect(checkpointsOf(home).restore(id, checkpoint)).rejects.toMatchObject({ code: 'agent_dead' })
  })

  it('contains no value of a secret', async () => {
    const env = { SOME_API_KEY: 'sk-canary-0123456789' }
    await using home = await keeping({ env })
    const id = await spawn(home)
    await home.kernel.invoke('goals.add', { id, objective: `Log in with ${env.SOME_API_KEY}` })
    const checkpoint = await checkpointsOf(home).save(id, `for ${env.SOME_API_KEY}`)
    const file = `${folder(id)}/${checkpoint}.json`
    const text = await textBehind(home.root, file)
    expect(text).toContain(checkpoint)
    expect(text).not.toContain('canary')
    if (!ON_POSTGRES) expect((await stat(join(home.root, '.svc', file))).mode & 0o777).toBe(0o600)
    expect((await checkpointsOf(home).get(id, checkpoint)).label).toBe('for ***')
  })
})

describe('stored checkpoints', () => {
  it('are listed with the newest first, even within one millisecond', async () => {
    await using home = await keeping()
    const id = await spawn(home)
    for (const n of [1, 2, 3]) await checkpointsOf(home).save(id, `same ${n}`)
    home.clock.jump(1)
    await checkpointsOf(home).save(id, 'later')
    expect(labels(await checkpointsOf(home).list(id))).toEqual(['later', 'same 3', 'same 2', 'same 1'])
    expect((await checkpointsOf(home).get(id, 'latest')).label).toBe('later')
  })

  it('are limited in number, requested and automatic ones separately', async () => {
    await using home = await keeping({ config: { checkpoints: { keep: 2 } } })
    const id = await spawn(home)
    const asked: string[] = []
    for (const n of [1, 2, 3]) asked.push(await checkpointsOf(home).save(id, `${n}`))
    expect(labels(await checkpointsOf(home).list(id))).toEqual(['3', '2'])
    for (let n = 0; n < 4; n++) await checkpointsOf(home).restore(id, asked[2]!)
    const all = await checkpointsOf(home).list(id)
    expect(all.map(({ origin }) => origin)).toEqual(['automatic', 'automatic', 'asked', 'asked'])
    expect(await home.kernel.invoke('checkpoints.prune', { id, keep: 0 })).toEqual({
      removed: expect.arrayContaining(all.map(({ checkpoint_id }) => checkpoint_id)),
    })
    expect(await namesIn(home.root, folder(id))).toEqual([])
  })

  it('are taken after a number of cycles, unless nothing has changed', async () => {
    await using home = await testHostWithModel(
      request =>
        asksForGoal(request) ? goalAnswer('Look around') : toolCall('write_notepad', { text: `look ${request.n}` }),
      {
        builtins: [checkpoints],
        config: { checkpoints: { every_cycles: 2 } },
      },
    )
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    for (let n = 0; n < 3; n++) await runHeartbeat(home)
    await until(async () => (await checkpointsOf(home).list(id)).length > 0)
    const taken = labels(await checkpointsOf(home).list(id)).map(label =>
      Number(/^after cycle (\d+)$/.exec(label)?.[1]),
    )
    expect(taken.every(n => n % 2 === 0)).toBe(true)
    expect((await eventsOf(home, 'checkpoint_saved'))[0]).toMatchObject({ data: { agent_id: id, origin: 'automatic' } })

    await using idle = await testHostWithModel(() => goalAnswer(''), {
      builtins: [checkpoints],
      config: { checkpoints: { every_cycles: 1 }, daemon: { idle_backoff: false } },
    })
    const bored = await spawn(idle)
    idle.kernel.heartbeat.start()
    for (let n = 0; n < 3; n++) await runHeartbeat(idle)
    expect((await detail(idle, bored)).cycle_count).toBeGreaterThan(2)
    expect(labels(await checkpointsOf(idle).list(bored))).toEqual(['after cycle 1'])
  })

  it('are taken of each living agent when the daemon stops, unless nothing has changed', async () => {
    await using dir = await tempDir()
    const config = { checkpoints: { grace: 600 }, daemon: { heartbeat: 600 } }
    const live = () =>
      testHostWithModel(() => goalAnswer(''), { root: dir.path, config, builtins: [...PART_MODULES, daemon] })
    const ids: string[] = []
    {
      await using home = await live()
      ids.push(await spawn(home), await spawn(home))
      await home.kernel.invoke('agents.pause', { id: ids[1] })
      await waitUntilIdle(home)
    }
    const names = await Promise.all(ids.map(id => namesIn(dir.path, folder(id))))
    expect(names.map(each => each.length)).toEqual([1, 1])
    {
      await using home = await live()
      expect(labels(await checkpointsOf(home).list(ids[0]!))).toEqual(['daemon_shutdown'])
      await home.kernel.invoke('agents.pause', { id: ids[0] })
      await waitUntilIdle(home)
    }
    expect((await namesIn(dir.path, folder(ids[1]!))).length).toBe(1)
  })

  it('are left out when there is no grace period, and the daemon logs their number', async () => {
    await using home = await testHostWithModel(() => goalAnswer(''), {
      builtins: [checkpoints, daemon],
      config: { checkpoints: { grace: 0 } },
    })
    const id = await spawn(home)
    await waitUntilIdle(home)
    await home.kernel.invoke('agents.pause', { id })
    await home.close()
    expect(home.logged('no checkpoints were saved for 1 agent, because checkpoints.grace was over')).toHaveLength(1)
  })

  it('are removed by retention if they are automatic and old, except for the newest', async () => {
    await using home = await keeping({ clock: 'system', builtins: [retention, anything], config: { checkpoints: {} } })
    const id = await spawn(home)
    const asked = await checkpointsOf(home).save(id, 'asked')
    await checkpointsOf(home).restore(id, asked)
    await checkpointsOf(home).restore(id, asked)
    await ageIn(home.root, folder(id))
    const { rows } = await home.kernel.use(Retention).run()
    expect(rows.checkpoints).toBe(1)
    expect((await checkpointsOf(home).list(id)).map(({ origin }) => origin)).toEqual(['automatic', 'asked'])
  })

  it('are moved to the trash together with their agent', async () => {
    await using home = await keeping()
    const id = await spawn(home)
    await checkpointsOf(home).save(id, '')
    await home.kernel.invoke('agents.delete', { id })
    expect(await namesIn(home.root, 'checkpoints')).toEqual([])
    const [trash] = await readdir(join(home.root, '.svc/trash'))
    expect(await readdir(join(home.root, '.svc/trash', trash!))).toContain('checkpoints')
  })
})

describe('checkpoints over HTTP', () => {
  it('are taken, listed, shown, compared, restored and deleted', async () => {
    await using home = await keeping({ builtins: [rest], roles: ['server'] })
    const id = await spawn(home)
    const { ask } = await listen(home.kernel)
    const call = (method: string, path: string, body?: unknown) =>
      ask(`/agents/${id}/checkpoints${path}`, { method, body })
    const taken = await call('POST', '', { label: ' with nothing ' })
    expect(taken.status).toBe(201)
    const first = taken.json.checkpoint_id as string
    expect(taken.headers.location).toBe(`/agents/${id}/checkpoints/${first}`)
    expect(taken.json).toMatchObject({ label: 'with nothing', origin: 'asked', agent_id: id })
    await leaveTraces(home, id, 'bees')
    await call('POST', '', {})
    const list = await call('GET', '?limit=1')
    expect(list.headers['x-total-count']).toBe('2')
    expect(list.json).toMatchObject([{ parts: expect.arrayContaining(['goals', 'suffering', 'identity', 'world']) }])
    expect((await call('GET', `/${first}`)).json.parts.goals).toBeNull()
    const changes = (await call('GET', `/${first}/diff`)).json as CheckpointChange[]
    expect(changes.map(({ path }) => path)).toContain('/goals')
    expect((await call('GET', `/${first}/diff?to=latest`)).json).toEqual(changes)
    expect((await call('GET', `/latest/diff?to=latest`)).json).toEqual([])
    expect(await call('POST', `/${first}/restore`, {})).toMatchObject({ status: 200, json: { checkpoint_id: first } })
    expect((await detail(home, id)).goal).toBeNull()
    expect((await call('DELETE', `/${first}`)).status).toBe(204)
    expect(await call('DELETE', `/${first}`)).toMatchObject({ status: 404, json: { code: 'checkpoint_not_found' } })
    expect((await call('DELETE', '/latest')).status).toBe(422)
    for (const odd of ['ckpt-00000000', '..%2f..%2fconfig', 'ckpt-0000000g'])
      expect((await call('GET', `/${odd}`)).status, odd).toBe(404)
    expect((await call('POST', '/prune', { keep: 0 })).json.removed).toHaveLength(2)
    expect((await ask('/agents/nobody/checkpoints')).status).toBe(404)
  })
})

/** Applies changes to a JSON value as RFC 6902 describes. */
function applyChanges(value: unknown, changes: readonly CheckpointChange[]): unknown {
  const root = { it: structuredClone(value) as unknown }
  for (const { op, path, value: given } of changes) {
    const keys = ['it', ...path.split('/').slice(1)].map(key => key.replaceAll('~1', '/').replaceAll('~0', '~'))
    const last = keys.pop()!
    // biome-ignore lint/suspicious/noExplicitAny: any JSON.
    const holder = keys.reduce<any>((each, key) => each[key], root)
    if (op !== 'remove')
      Object.defineProperty(holder, last, { value: given, writable: true, enumerable: true, configurable: true })
    else if (Array.isArray(holder)) holder.splice(Number(last), 1)
    else delete holder[last]
  }
  return root.it
}
