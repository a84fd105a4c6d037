import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { type Machine, Machines, post, took } from './machines.ts'

/** Agents that do nothing by themselves during the measurement, and need no rest. */
const QUIET = `daemon: { heartbeat: 600, min_rest: 0, max_concurrent_agents: 8, budget_usd: 1000 }
model: { sim_delay: 0 }
`
/** Plugin that reports when cycles begin, in milliseconds of the wall clock. */
const TELLER = `import { definePlugin } from 'svc'

const tell = (word: string, agent: string) =>
  process.stderr.write(\`\\n\${word} \${agent} \${performance.timeOrigin + performance.now()}\\n\`)

export default definePlugin({
  name: 'teller',
  setup(svc) {
    svc.on('cycle_start', ({ agent_id }) => tell('begun', agent_id))
  },
})
`

export interface Latency {
  /** From the request at a server without a daemon to the start of the cycle on a node elsewhere, in milliseconds. */
  late: number[]
  /** From a bare write with a notification to the end of a bare claim in another process, for comparison. */
  bare: number[]
}

/** Measures how long a nudge at one machine takes to begin a cycle at another, beside the unavoidable minimum. */
export async function nudgeLatency(nudges: number): Promise<Latency> {
  await using machines = await Machines.open(QUIET)
  const server = await machines.start('serve', '--port', '0')
  const node = await machines.startWith(
    { files: { 'plugins/teller.ts': TELLER } },
    'start',
    '--profiles',
    'coder,writer,tester',
  )
  const begun = followCycles(node)
  const calm = () =>
    machines.number("SELECT count(*) FROM leases WHERE kind = 'agent' AND (owner IS NOT NULL OR woken = 1)")
  const agents = await machines.rows<{ agent_id: string }>('SELECT agent_id FROM agents')
  const bare = await echoing(machines.url)
  const latency: Latency = { late: [], bare: [] }
  try {
    for (let n = 0; n < nudges; n++) {
      const { agent_id } = agents[n % agents.length]!
      await took('the agents rest', async () => (await calm()) === 0)
      // Varies the delay, to be out of step with the loop.
      await sleep(50 + ((n * 37) % 250))
      latency.bare.push(await bare.echo())
      const start = begun(agent_id)
      const asked = performance.timeOrigin + performance.now()
      await post(server, `/agents/${agent_id}/nudge`, { message: `note ${n}` })
      latency.late.push((await start) - asked)
    }
  } finally {
    await bare.end()
  }
  return latency
}

/** Returns a function that resolves when the next cycle of an agent begins. */
function followCycles({ svc }: Machine): (agent: string) => Promise<number> {
  const waiting = new Map<string, (at: number) => void>()
  let rest = ''
  svc.process.stderr!.on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop()!
    for (const line of lines) {
      const [, agent, at] = /^begun (\S+) (\S+)$/.exec(line) ?? []
      if (agent) waiting.get(agent)?.(Number(at))
    }
  })
  return agent => new Promise(resolve => waiting.set(agent, resolve))
}

async function echoing(url: string) {
  const client = new pg.Client(url)
  await client.connect()
  await client.query('CREATE TABLE echo (id BIGINT PRIMARY KEY, n BIGINT); INSERT INTO echo VALUES (1, 0)')
  const child = fork(fileURLToPath(new URL('echo.ts', import.meta.url)), [url])
  await once(child, 'message')
  return {
    async echo(): Promise<number> {
      const message = once(child, 'message')
      const began = performance.timeOrigin + performance.now()
      await client.query("UPDATE echo SET n = n + 1; SELECT pg_notify('echo', '')")
      const [at] = (await message) as [number]
      return at - began
    },
    async end() {
      child.disconnect()
      await client.end()
    },
  }
}

export function inWords(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]?.toFixed(1)
  return `${at(0.5)} ms in the middle, ${at(0.99)} ms p99, ${at(1)} ms at most, of ${sorted.length}`
}
