import { join } from 'node:path'
import { keyedRandom } from '#lib/keyed-random'
import { project } from '../../cli/project.ts'
import { RunningSvc } from '../../support/cli.ts'
import {
  type ModelServerRequest,
  modelServer,
  type Reply,
  text,
  together,
  toolCall,
} from '../../support/model/model-server.ts'
import Sqlite from '../../support/sqlite.ts'
import { until } from '../../support/until.ts'

/** Context window of a small model, in tokens. */
const WINDOW = 8_192
/** Number of files to read for a goal, each of about `FILE_TOKENS` tokens. */
const FILES = 12
const FILE_TOKENS = 700
const GOALS_OF_AGENT = 5
/** Text of the model with each call: it cannot be cleared as results are, so the oldest turns have to go. */
const THOUGHT = 'I look at what the page says, and think about what it means for the task that I was given. '.repeat(12)

const CONFIG = `daemon: { heartbeat: 0.2, min_rest: 0, max_concurrent_agents: 4 }
model: { retry_delay: 0.05, retry_cap: 0.2 }
`

interface ContextSoakOptions {
  goals: number
  seed?: number
  /** Called after each restart. */
  onRestart?: (restarts: number, left: number) => void
}

export interface ContextSoakReport {
  seed: number
  goals: number
  requests: number
  /** Number of restarts of the service, and how many of them were kills. */
  restarts: number
  kills: number
  /** Requests that the server refused: too large, or in a form that providers do not accept. */
  refused: string[]
  /** What was missing from a request or a result. */
  lost: string[]
  /** Number of times that a conversation was compacted. */
  compactions: number
  /** Number of times that a fact was read again, as the request no longer contained it. */
  rereads: number
  /** Number of summaries that the model wrote. */
  summaries: number
}

const fact = (goal: number) => `The code word of task number ${goal} is W${goal * 7919}.`
const objective = (goal: number) => `Read the files of task number ${goal} and report its code word`
const order = (n: number) => `Order ${n}: keep mark M${n * 31} in mind.`
const pathOf = (goal: number, file: number) => `task-${goal}/f${file}.txt`
const contentsOf = (goal: number, file: number) =>
  `${file === 1 ? fact(goal) : `Page ${file} of task ${goal}.`}\n${'Nothing of note stands here, and it goes on. '.repeat((FILE_TOKENS * 4) / 45)}`

/** Model that reads all files of each goal, then reports; checks what its requests contain. */
class Reader {
  readonly lost: string[] = []
  rereads = 0
  summaries = 0
  readonly #steps = new Map<number, number>()
  /** Orders that requests have contained, by goal. */
  readonly #orders = new Map<number, Set<string>>()

  answer({ n, prompt, body }: ModelServerRequest): Reply {
    if (prompt.includes('"goal":')) return text('{"goal": null, "reasoning": "there is nothing to do"}')
    if (prompt.includes("You write the record of an agent's work")) return this.#summary(n, prompt)
    const first = body.messages.find(({ role }) => role === 'user')?.content ?? ''
    const goal = Number(/^Goal: Read the files of task number (\d+) and/.exec(first)?.[1])
    if (!goal) {
      this.lost.push(`request ${n} does not begin with its goal: ${first.slice(0, 100)}`)
      return text('Done.')
    }
    const orders = this.#orders.get(goal) ?? new Set()
    for (const each of orders) if (!prompt.includes(each)) this.lost.push(`request ${n} of goal ${goal} lost "${each}"`)
    for (const [each] of prompt.matchAll(/Order \d+: keep mark M\d+ in mind\./g)) orders.add(each)
    this.#orders.set(goal, orders)
    const step = (this.#steps.get(goal) ?? 0) + 1
    this.#steps.set(goal, step)
    if (step <= FILES) return together(text(THOUGHT), toolCall('file_read', { path: pathOf(goal, step) }))
    if (prompt.includes(fact(goal))) return toolCall('finish_goal', { summary: fact(goal) })
    this.rereads++
    return toolCall('file_read', { path: pathOf(goal, 1) })
  }

  /** Refuses every third summary, so that a digest has to do. */
  #summary(n: number, prompt: string): Reply {
    if (n % 3 === 0) return text('I would rather not.')
    this.summaries++
    const facts = prompt.match(/The code word of task number \d+ is W\d+\./g) ?? []
    const sections = { Goal: 'Read the files.', 'Orders and constraints': 'none', Decisions: 'none', Failed: 'none' }
    const rest = Object.entries({ ...sections, Done: [...new Set(facts)].join(' ') || 'none', Next: 'Read on.' })
    return text(rest.map(([heading, content]) => `## ${heading}\n${content}`).join('\n'))
  }
}

/** Lets agents pursue goals in a small window, stopping and killing the service at random, until all goals end. */
export async function contextSoak({
  goals,
  seed = 1,
  onRestart: tell,
}: ContextSoakOptions): Promise<ContextSoakReport> {
  const random = keyedRandom(seed)
  const reader = new Reader()
  await using server = await modelServer({ window: WINDOW, script: request => reader.answer(request) })
  await using dir = await project({
    '.svc/config.yaml': CONFIG,
    'models.yaml': `models: { "openai:scripted-1": { context_window: ${WINDOW} } }\n`,
  })
  const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'none', SVC_DEFAULT_MODEL: 'openai:scripted-1' }
  const agents: string[] = []
  let [restarts, kills] = [0, 0]
  for (let left = goals; left > 0; restarts++) {
    await using service = new RunningSvc(['serve', '--with-daemon', '--port', '0', '--json'], { cwd: dir.path, env })
    const [, url] = await service.waitForOutput(/"url":"(http[^"]+)"/)
    const post = async (path: string, body: object) => {
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
      if (!answer.ok) throw new Error(`POST ${path} answered ${answer.status}: ${await answer.text()}`)
      return (await answer.json()) as { agent_id: string }
    }
    if (restarts === 0) {
      for (let n = 1; n <= goals; n++) {
        if (n % GOALS_OF_AGENT === 1) agents.push((await post('/agents', { preset: 'coder' })).agent_id)
        const files = Array.from({ length: FILES }, (_, file) => [
          `.svc/workspaces/${agents.at(-1)}/${pathOf(n, file + 1)}`,
          contentsOf(n, file + 1),
        ])
        await dir.write(Object.fromEntries(files))
        await post(`/agents/${agents.at(-1)}/goals`, { objective: objective(n) })
      }
    }
    const agent = agents[Math.floor(random.number('agent', restarts) * agents.length)]
    await post(`/agents/${agent}/nudge`, { message: order(restarts) })
    const enough = server.requests.length + 10 + random.number('requests', restarts) * 60
    using db = openDatabase(join(dir.path, '.svc/svc.db'))
    const active = db.prepare("SELECT count(*) FROM goals WHERE status = 'active'").pluck()
    await until(() => {
      left = active.get() as number
      return left === 0 || server.requests.length >= enough
    })
    const isKilled = restarts % 2 === 0
    if (isKilled) kills++
    await service.end(isKilled ? 'SIGKILL' : 'SIGTERM')
    tell?.(restarts + 1, left)
  }
  using db = openDatabase(join(dir.path, '.svc/svc.db'))
  const ended = db.prepare('SELECT objective, status, result FROM goals ORDER BY created_at').all() as EndedGoal[]
  return {
    seed,
    goals,
    restarts,
    kills,
    rereads: reader.rereads,
    summaries: reader.summaries,
    requests: server.requests.length,
    refused: server.refusals.map(({ message }) => message),
    lost: [...reader.lost, ...missing(ended, goals)],
    compactions: db.prepare("SELECT count(*) FROM events WHERE type = 'context_compacted'").pluck().get() as number,
  }
}

interface EndedGoal {
  objective: string
  status: string
  result: string | null
}

function missing(ended: readonly EndedGoal[], goals: number): string[] {
  return Array.from({ length: goals }, (_, n) => n + 1).flatMap(goal => {
    const found = ended.find(each => each.objective === objective(goal))
    const isReached = found?.status === 'completed' && found.result === fact(goal)
    return isReached ? [] : [`goal ${goal} ended as ${found?.status}: ${found?.result}`]
  })
}

function openDatabase(file: string) {
  const db = new Sqlite(file, { readonly: true })
  return Object.assign(db, { [Symbol.dispose]: () => void db.close() })
}
