import { randomInt } from 'node:crypto'
import { Agent, request } from 'node:http'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { trialCount } from '../../support/vitest/trial-count.ts'
import { Answers, type RawAnswer } from '../answers.ts'
import { startServer } from '../start-server.ts'
import { entriesOf, type OpenApiDocument } from './document.ts'
import { type GeneratedRequest, requestsOf } from './requests.ts'

const REQUESTS = Number(process.env.SVC_TEST_REQUESTS ?? trialCount(20_000, 2_500))
const SEED = Number(process.env.SVC_TEST_SEED ?? randomInt(2 ** 31))
/** Maximum number of simultaneous requests; half as many on average. */
const BATCH = 24
/** Number of agents kept, whatever is spawned and deleted. */
const LEAST = 3
const MOST = 8
/** Time after which a stream is closed, in milliseconds. */
const LISTEN_MS = 50
const LIMIT_MS = 300_000

it('the server answers any request as its document says', { timeout: LIMIT_MS }, async () => {
  console.log(`SVC_TEST_SEED=${SEED} SVC_TEST_REQUESTS=${REQUESTS}`)
  const config = {
    daemon: { heartbeat: 1 },
    model: { sim_delay: 0 },
    // Makes some calls wait for a decision.
    approval: { enabled: true, require_for: ['file_write', 'write_notepad'] },
  }
  const home = await startServer({ roles: ['server', 'daemon'], seed: SEED, config })
  const { kernel, port, ask } = home
  const document: OpenApiDocument = (await ask('/openapi.json')).json
  const entries = entriesOf(document)
  const answers = new Answers(document, [home.root, process.cwd()])
  const ids = new Ids()
  const agent = new Agent({ keepAlive: true, maxSockets: BATCH })
  const tally = new Map(entries.map(({ operationId }) => [operationId, { asked: 0, good: 0 }]))

  const batches = fc.array(requestsOf(document, entries), { minLength: 1, maxLength: BATCH, size: 'max' })
  const property = fc.asyncProperty(batches, async batch => {
    ids.replace('agent_id', await populate())
    ids.replace('approval_id', await pending())
    const faults = await Promise.all(
      batch.map(async asked => {
        const sent = { ...asked, path: ids.fill(asked.path), body: asked.body && ids.fill(asked.body) }
        const answered = await send(sent, port, agent)
        ids.learn(answered.text)
        const counts = tally.get(asked.operationId)!
        counts.asked++
        if (answered.status < 300) counts.good++
        const what = `${sent.method} ${sent.path.slice(0, 300)} ${JSON.stringify(sent.headers)} ${sent.body?.slice(0, 300) ?? ''}`
        return answers
          .faultsOf(asked, answered)
          .map(fault => `${what}\n→ ${answered.status} ${fault}\n${answered.text.slice(0, 600)}`)
      }),
    )
    expect(faults.flat()).toEqual([])
  })
  try {
    // Reports a failure even where shrinking the check takes longer than the test may.
    const limits = { interruptAfterTimeLimit: LIMIT_MS * 0.8, markInterruptAsFailure: true }
    await fc.assert(property, { seed: SEED, numRuns: Math.ceil((REQUESTS / BATCH) * 2), ...limits })
  } finally {
    agent.destroy()
  }

  const counts = [...tally.values()]
  const never = [...tally].flatMap(([operationId, { good }]) => (good === 0 ? [operationId] : []))
  const asked = counts.reduce((sum, each) => sum + each.asked, 0)
  const good = counts.reduce((sum, each) => sum + each.good, 0)
  console.log(`${asked} requests, ${good} of them succeeded; never: ${never.join(', ') || 'none'}`)
  expect(asked).toBeGreaterThan(REQUESTS * 0.8)
  expect(good).toBeGreaterThan(asked * 0.15)
  expect((await ask('/healthz')).status).toBe(200)
  expect(({} as Record<string, unknown>).a).toBeUndefined()

  /** Spawns agents again that requests delete, and deletes those that they spawn too many. */
  async function populate(): Promise<string[]> {
    const alive = ((await kernel.invoke('agents.list')) as { agent_id: string }[]).map(({ agent_id }) => agent_id)
    for (const id of alive.splice(MOST)) await kernel.invoke('agents.delete', { id })
    while (alive.length < LEAST) {
      alive.push(((await kernel.invoke('agents.spawn', { preset: 'worker' })) as { agent_id: string }).agent_id)
    }
    return alive
  }

  async function pending(): Promise<string[]> {
    const queue = (await kernel.invoke('approvals.queue', { limit: 20 })) as { approval_id: string }[]
    return queue.map(({ approval_id }) => approval_id)
  }
})

/** Ids from answers, by the name of their field. */
class Ids {
  readonly #known = new Map<string, string[]>()

  replace(field: string, ids: readonly string[]): void {
    this.#known.set(field, [...ids])
  }

  learn(text: string): void {
    for (const [, field, id] of text.matchAll(/"(\w+_id)":"([\w.-]{1,80})"/g)) {
      const known = this.#known.get(field!) ?? []
      if (!['agent_id', 'approval_id'].includes(field!) && !known.includes(id!))
        this.#known.set(field!, [id!, ...known].slice(0, 20))
    }
  }

  /** Replaces placeholders with ids that are known now. */
  fill(text: string): string {
    return text.replace(/pick\.(\w+)\.(\d+)\./g, (_, field: string, n: string) => {
      const known = this.#known.get(field) ?? []
      return known[Number(n) % known.length] ?? `no-${field}`
    })
  }
}

function send({ method, path, headers, body }: GeneratedRequest, port: number, agent: Agent): Promise<RawAnswer> {
  const bytes = body === undefined ? undefined : Buffer.from(body)
  const length = bytes === undefined ? {} : { 'content-length': String(bytes.length) }
  return new Promise((resolve, reject) => {
    const sent = request(
      { port, agent, method, path, headers: { ...headers, ...length }, timeout: 30_000 },
      received => {
        const parts: Buffer[] = []
        const describeRequest = () => {
          const { statusCode: status = 0, headers } = received
          resolve({ status, headers, text: Buffer.concat(parts).toString() })
        }
        const stream = received.headers['content-type']?.startsWith('text/event-stream') ?? false
        const enough = stream ? setTimeout(() => sent.destroy(), LISTEN_MS) : undefined
        received.on('data', part => parts.push(part))
        received.on('close', () => {
          clearTimeout(enough)
          describeRequest()
        })
        received.on('error', stream ? () => {} : reject)
      },
    )
    sent.on('timeout', () => sent.destroy(new Error(`${method} ${path} was not answered within 30 s`)))
    sent.on('error', reject)
    sent.end(bytes)
  })
}
