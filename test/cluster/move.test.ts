import { expect, it } from 'vitest'
import daemon from '../../builtins/daemon/index.ts'
import { Memory } from '../../builtins/memory/contract.ts'
import memory from '../../builtins/memory/index.ts'
import { Store } from '../../builtins/store/contract.ts'
import { asksForGoal, detail, goalsOf, lived, spawn } from '../spec/rooms.ts'
import { house, text, toolCall, until } from '../support/index.ts'
import { cluster, postgresOr, testDatabase } from '../support/postgres.ts'

const server = await postgresOr(reason => console.warn(`PostgreSQL is left out: ${reason}`))

const OBJECTIVE = "Find the red key in Björn's garden ☃"

it.skipIf(!server)('a project moves from its file into a database, with all that it knows, once', async () => {
  const database = await testDatabase(server!)
  const rooms = [cluster, memory, daemon]
  const script = (request: { prompt: string }) =>
    asksForGoal(request as never)
      ? text(JSON.stringify({ goal: OBJECTIVE, reasoning: 'because' }))
      : toolCall('finish_goal', { summary: "It was under the 'third' stone", evidence: [] })
  try {
    await using before = await lived(script as never, {
      builtins: rooms,
      roles: ['server'],
      env: { SVC_STORE_URL: '' },
    })
    const id = await spawn(before)
    before.kernel.heartbeat.start()
    await until(before, 'goal_completed')
    await before.kernel.heartbeat.stop()
    await before.kernel.use(Memory).of(id).store('The shed is green')
    const seq = await before.kernel.use(Store).get<{ seq: number }>('SELECT max(seq) AS seq FROM events')

    const move = () => before.kernel.invoke('cluster.move', { to: database.url })
    expect(await move()).toMatchObject({ tables: expect.any(Number), files: expect.any(Number) })
    await expect(move()).rejects.toMatchObject({ code: 'target_in_use' })

    await using after = await house({
      builtins: [...(await import('../spec/rooms.ts')).ROOMS, ...rooms],
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
})
