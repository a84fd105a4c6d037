import { randomInt } from 'node:crypto'
import { keyedRandom } from '#lib/keyed-random'
import { RunningSvc, until } from '../../support/index.ts'
import { sendJson } from '../../support/model/http.ts'
import { Crashing } from './crashing.ts'

export interface KillLoop {
  kills: number
  /** Seed of the moments of the kills; random by default. */
  seed?: number
  /** Called after each kill. */
  onKill?: (kill: number) => void
}

export interface KillReport {
  seed: number
  kills: number
  /** What was acknowledged and is missing. */
  lost: string[]
  acknowledged: number
  broken: string[]
  /** Goals that made no progress once the kills were over. */
  stuck: string[]
  /** 95th percentile of the time from the start of a process to its first output, in milliseconds. */
  ready_p95_ms: number
}

/** Longest time that a process runs before it is killed, in milliseconds. */
const LIFE_MS = 3_000

/** Kills a serving daemon at random moments during writes, and compares what was acknowledged with what is stored. */
export async function killLoop({
  kills,
  seed = randomInt(2 ** 31),
  onKill: tell = () => {},
}: KillLoop): Promise<KillReport> {
  const random = keyedRandom(seed)
  await using project = await Crashing.open(['alpha', 'beta'])
  const { cwd, env } = project
  const nudges = new Set<string>()
  const paused = new Map<string, boolean>()
  const ready: number[] = []
  const lost: string[] = []
  const broken: string[] = []
  const words = ['serve', '--with-daemon', '--port', '0', '--profiles', 'alpha,beta']

  const check = async (kill: number) => {
    const there = new Set(project.all<{ nudge_id: string }>('SELECT nudge_id FROM nudges').map(row => row.nudge_id))
    for (const id of nudges) if (!there.has(id)) lost.push(`${id} after kill ${kill}`)
    for (const row of project.all<{ agent_id: string; paused_at: number | null }>(
      'SELECT agent_id, paused_at FROM agents',
    )) {
      const wanted = paused.get(row.agent_id)
      if (wanted !== undefined && wanted !== (row.paused_at !== null))
        lost.push(`the pause of ${row.agent_id} after kill ${kill}`)
    }
    broken.push(...(await project.findFaults(kill)).map(fault => `after kill ${kill}: ${fault}`))
  }

  for (let kill = 1; kill <= kills; kill++) {
    const began = performance.now()
    await using daemon = new RunningSvc(words, { cwd, env })
    const [, url] = await daemon.waitForOutput(/(http:\/\/127\.0\.0\.1:\d+)/)
    ready.push(performance.now() - began)
    const write = async (path: string, body: object) => {
      const answer = await fetch(`${url}${path}`, sendJson(body))
      if (!answer.ok) throw new Error(`${path} was answered ${answer.status}: ${await answer.text()}`)
      return (await answer.json()) as { nudge_id: string }
    }
    const writer = async () => {
      const agents = project.all<{ agent_id: string }>('SELECT agent_id FROM agents').map(row => row.agent_id)
      for (let n = 0; ; n++) {
        const agent_id = agents[n % agents.length]!
        nudges.add((await write(`/agents/${agent_id}/nudge`, { message: `look at ${kill}/${n}` })).nudge_id)
        if (n % 5 !== 4) continue
        const verb = paused.get(agent_id) ? 'resume' : 'pause'
        paused.delete(agent_id)
        await write(`/agents/${agent_id}/${verb}`, {})
        paused.set(agent_id, verb === 'pause')
      }
    }
    // The writer ends with the process; a request that was cut off was not acknowledged.
    const writing = writer().catch((error: Error) => {
      if (/was answered/.test(error.message)) broken.push(error.message)
    })
    await new Promise(resolve => setTimeout(resolve, random.number('life', kill) * LIFE_MS))
    await daemon.end('SIGKILL')
    await writing
    await check(kill)
    tell(kill)
  }

  await using last = new RunningSvc(words, { cwd, env })
  const [, url] = await last.waitForOutput(/(http:\/\/127\.0\.0\.1:\d+)/)
  for (const { agent_id } of project.all<{ agent_id: string }>('SELECT agent_id FROM agents')) {
    await fetch(`${url}/agents/${agent_id}/resume`, sendJson({}))
    paused.set(agent_id, false)
  }
  const left = project.active()
  const stuck = () => project.active().filter(goal_id => left.includes(goal_id))
  await until(() => stuck().length === 0).catch(() => {})
  const still = stuck()
  if ((await last.end('SIGTERM')) !== 0) broken.push('the last one did not end with 0')
  await check(kills)
  const order = ready.sort((a, b) => a - b)
  return {
    seed,
    kills,
    lost,
    broken,
    stuck: still,
    acknowledged: nudges.size,
    ready_p95_ms: Math.round(order[Math.floor(order.length * 0.95)] ?? 0),
  }
}
