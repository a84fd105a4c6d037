import { expect, test } from 'vitest'
import { Store } from '#platform/store/contract'
import { BUILTINS } from '../../../../builtins/index.ts'
import { type ModelServerRequest, type TestHost, testHost, text, toolCall, until } from '../../../support/index.ts'
import Sqlite from '../../../support/sqlite.ts'
import { busyModel, replayOf, runOf, testHostWithRecordings } from '../../observability/recordings-host.ts'
import { finish, numberedGoals } from '../../observability/runs-host.ts'
import { asksForGoal, goalsOf, spawn } from '../models/model-host.ts'

/** Opens another process of the same project, as `svc serve` does. */
const beside = ({ root }: TestHost, url = '') =>
  testHost({
    root,
    builtins: BUILTINS,
    roles: ['server'],
    clock: 'system',
    seed: 4711,
    env: { OPENAI_BASE_URL: url, OPENAI_API_KEY: 'test-key-of-the-project', OPENAI_MODEL: 'scripted' },
  })

const rowsWritten = ({ kernel }: TestHost) => kernel.use(Store).all('SELECT n FROM svc_told')
const goalsReached = async (home: TestHost, agent: string) =>
  (await goalsOf(home, agent)).filter(({ status }) => status === 'completed').length

test.each(['before', 'after'] as const)(
  'writes of a server that started %s the daemon replay in order as part of the daemon’s run',
  async when => {
    await using home = await testHostWithRecordings(busyModel(3), { approval: { enabled: false } })
    const agents = [await spawn(home), await spawn(home), await spawn(home)]
    const [first = ''] = agents
    if (when === 'after') await home.start()
    await using server = await beside(home)
    if (when === 'before') await home.start()
    const { kernel } = server
    for (let n = 0; (await goalsReached(home, first)) < 6; n++) {
      const id = agents[n % 3]
      await kernel.invoke('agents.nudge', { id, message: `look ${n}` })
      if (n % 7 === 3) await kernel.invoke('agents.pause', { id })
      if (n % 7 === 5) for (const each of agents) await kernel.invoke('agents.resume', { id: each })
      if (n % 7 === 6) await kernel.invoke('goals.add', { id, objective: `Count the ${n} chairs` })
    }
    await home.stop()
    const verdict = await replayOf(home, await runOf(home))
    expect(verdict, JSON.stringify(verdict)).toMatchObject({ same: true, divergence: null, notes: [] })
    expect(verdict.events).toBeGreaterThan(50)
    expect(await rowsWritten(home)).toEqual([])
  },
  120_000,
)

test('a task of a server beside the daemon replays, whatever numbers its events were given', async () => {
  const idle = numberedGoals()
  await using home = await testHostWithRecordings((request: ModelServerRequest) => {
    if (asksForGoal(request)) return idle(request)
    return request.prompt.includes('It is done') ? text('Done.') : toolCall('notepad_write', { text: 'It is done' })
  })
  const agent = await spawn(home)
  await home.start()
  const daemon = await runOf(home)
  await using server = await beside(home, home.server.url)
  for (let n = 0; n < 3; n++) {
    await server.kernel.invoke('tasks.run', { id: agent, instruction: `Note ${n}` })
    await home.kernel.invoke('agents.nudge', { id: agent, message: `look ${n}` })
  }
  await server.close()
  await home.stop()
  const tasks = await home.kernel.use(Store).all<{ run_id: string }>("SELECT run_id FROM runs WHERE kind = 'task'")
  expect(tasks).toHaveLength(3)
  for (const { run_id } of tasks) {
    expect(await replayOf(home, run_id)).toMatchObject({ same: true, divergence: null })
  }
  expect(await replayOf(home, daemon)).toMatchObject({ same: true, notes: [] })
}, 120_000)

test('an unreported change, such as a manual edit of the database, is noted by the replay', async () => {
  await using home = await testHostWithRecordings(numberedGoals(finish))
  await home.start()
  const agent = await spawn(home)
  await until(async () => (await goalsReached(home, agent)) > 0)
  const sqlite = new Sqlite(home.kernel.project.database)
  sqlite.prepare("UPDATE agents SET role = 'dancer'").run()
  sqlite.close()
  await home.stop()
  expect((await replayOf(home, await runOf(home))).notes).toEqual(['another process wrote to the database'])
})
