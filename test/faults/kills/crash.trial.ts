import { expect, it } from 'vitest'
import { RunningSvc, until } from '../../support/index.ts'
import { trialCount } from '../../support/vitest/trial-count.ts'
import { Crashing } from './crashing.ts'

/** `before` one write is `after` another, and `after` it is committed: only full runs crash there. */
const PLACES = ['inside', 'after', 'before'].slice(0, trialCount(3, 1))
const around = (effect: string) => PLACES.map(place => `${place} ${effect}`)

/** In the order of execution: the process dies at each point, and the next one goes on from there. */
const POINTS = [
  'lock held',
  'inside daemon.take',
  'place taken',
  'daemon begun',
  'file written',
  'file renamed',
  ...around('agents.insert'),
  'leases claimed',
  'model answered:2',
  ...around('budget.hold'),
  ...around('spend.book'),
  ...around('goals.insert'),
  ...around('goals.record_answer'),
  'tool begins',
  'tool ended',
  ...around('goals.record_outcome'),
  ...around('goals.end'),
  ...around('runs.count'),
  'run log appended',
]

it('a daemon killed at each named point in turn goes on: no write is lost, and no effect is repeated', async () => {
  await using project = await Crashing.open(['alpha', 'beta'])
  const { cwd } = project
  for (const [kills, point] of POINTS.entries()) {
    await using daemon = new RunningSvc(['start', '-p', 'alpha,beta'], { cwd, env: project.at(point) })
    const died = daemon.ended.then(code => code === null)
    const slow = new Promise<string>(resolve => setTimeout(() => resolve(`never came to "${point}"`), 20_000).unref())
    expect(await Promise.race([died, slow]), `${point}\n${daemon.stderr.slice(-2000)}`).toBe(true)
    expect(await project.findFaults(kills + 1), point).toEqual([])
  }
  const left = project.active()
  await using last = new RunningSvc(['start', '-p', 'alpha,beta'], { cwd, env: project.env })
  await last.waitForOutput(/^Logs: /m)
  await until(() => !project.active().some(goal_id => left.includes(goal_id)))
  const agents = project.all<{ name: string }>('SELECT name FROM agents ORDER BY name')
  expect(agents.map(({ name }) => name)).toEqual(['alpha', 'beta'])
  expect(await last.end('SIGTERM')).toBe(0)
  expect(await project.findFaults(POINTS.length)).toEqual([])
  expect(project.spendCount, 'a call was made and not paid for').toBeGreaterThanOrEqual(project.server.requests.length)
}, 240_000)
