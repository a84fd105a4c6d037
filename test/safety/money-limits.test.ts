import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Agents } from '#core/agents/contract'
import { type CallPurpose, Models } from '#core/models/contract'
import { Operations } from '#kernel'
import { DoctorChecks } from '#lib/doctor-check'
import { Store } from '#platform/store/contract'
import { asksForGoal, detail, spawn } from '../spec/core/models/model-host.ts'
import {
  eventsOf,
  MAX_TOKENS as LONG,
  PRICE,
  reservations,
  rows,
  status,
  testHostWithBudget,
  tokensCharged,
} from '../spec/safety/budget-host.ts'
import { runHeartbeat, type TestHost, text, toolCall, until } from '../support/index.ts'
import { barrier } from '../support/model/model-server.ts'
import Sqlite from '../support/sqlite.ts'

/** Returns a profile with this total cost limit, in micro-dollars. */
const miser = (micros: number, more = '') => ({
  'profiles/miser.yaml': `name: miser\nrole: saves\nmax_tokens: ${LONG}\nmax_total_cost_usd: ${micros / 1e6}\n${more}`,
})

const call = (home: TestHost, agent_id: string, kind: CallPurpose['kind'] = 'other') =>
  home.kernel.use(Models).call({
    model: null,
    messages: [{ role: 'user', content: 'x'.repeat(400) }],
    tools: [],
    temperature: 0,
    max_tokens: LONG,
    purpose: { agent_id, goal_id: null, cycle_num: 1, kind },
    signal: new AbortController().signal,
  })

/** Gives a host the lease of an agent's first cycle, which a pursuit call requires. */
function claim({ kernel, root }: TestHost, agent_id: string) {
  const database = new Sqlite(join(root, '.svc/svc.db'))
  const { owner } = kernel.use(Store)
  database.prepare('UPDATE leases SET owner = ?, cycle_num = 1 WHERE id = ?').run(owner, agent_id)
  database.close()
}

/** Maximum cost of such a call in micro-dollars: 100 input tokens and the maximum of output tokens. */
const BOUND = 100 * PRICE.input + LONG * PRICE.output

/** Returns the outcome of each concurrent call. */
const outcomes = (calls: Promise<unknown>[]) =>
  Promise.all(
    calls.map(each =>
      each.then(
        () => 'answered',
        error => error.code as string,
      ),
    ),
  )

/** Creates a sub-agent. */
async function child({ kernel }: TestHost, spawned_by: string, agent_id: string, preset = 'worker') {
  const agent = { agent_id, name: agent_id, role: 'helps', model: '', preset, spawned_by }
  await kernel.use(Store).apply(kernel.use(Agents).create(agent))
  return agent_id
}

describe("an agent's max_total_cost_usd", () => {
  it('holds for concurrent calls, also without a limit of the daemon', async () => {
    const limit = 3 * BOUND + BOUND / 2
    await using home = await testHostWithBudget(() => barrier(3, text('Hello.')), { files: miser(limit) })
    const id = await spawn(home, 'miser')
    const ended = await outcomes(Array.from({ length: 12 }, () => call(home, id)))
    expect(ended.filter(each => each === 'answered')).toHaveLength(3)
    expect(ended.filter(each => each === 'agent_budget_exhausted')).toHaveLength(9)
    expect(home.server.requests).toHaveLength(3)
    expect(await reservations(home)).toEqual([])
    expect((await detail(home, id)).budget?.total).toEqual({
      agent_id: id,
      limit_usd: limit / 1e6,
      reserved_usd: 0,
      spent_usd: tokensCharged(home.server.bill).micros / 1e6,
    })
  })

  it('counts spend of goals, tasks and sub-agents, whichever process makes the call', async () => {
    let release = () => {}
    const released = new Promise<void>(resolve => {
      release = resolve
    })
    const answer = async () => {
      await released
      return text('Hello.')
    }
    const files = miser(2 * BOUND + BOUND / 2)
    await using home = await testHostWithBudget(answer, { files })
    const id = await spawn(home, 'miser')
    const below = await child(home, id, 'helper-1')
    const deep = await child(home, below, 'helper-2')
    await using other = await testHostWithBudget(answer, { files, root: home.root, roles: ['server'] })
    claim(home, below)
    const under = [call(home, below, 'goal_generation'), call(other, deep, 'other')]
    await home.server.request(1)
    await other.server.request(1)
    const kinds = ['goal_pursuit', 'goal_generation', 'task', 'other'] as const
    for (const [n, kind] of kinds.entries()) {
      const [host, agent] = [n % 2 ? home : other, [id, below, deep][n % 3]!]
      claim(host, agent)
      const refused = await call(host, agent, kind).catch(error => error)
      expect(refused).toMatchObject({ code: 'agent_budget_exhausted', status: 409 })
      expect(refused.message).toMatch(
        new RegExp(
          `^${id} has spent \\$0\\.00 in total, \\$0\\.02.* are reserved for running calls, this call may cost`,
        ),
      )
    }
    // Reserved amounts may be released: nothing is exhausted yet.
    expect(await eventsOf(home, 'agent_budget_exhausted')).toEqual([])
    release()
    await Promise.all(under)
    await call(home, below)
  })

  it('still counts the spend of a deleted sub-agent', async () => {
    await using home = await testHostWithBudget(() => text('Hello.'), { files: miser(BOUND + BOUND / 2) })
    const id = await spawn(home, 'miser')
    const below = await child(home, id, 'helper-1')
    await call(home, below, 'other')
    const spent = tokensCharged(home.server.bill).micros / 1e6
    expect((await detail(home, id)).budget?.total.spent_usd).toBe(spent)
    await home.kernel.invoke('agents.delete', { id: below })
    expect((await detail(home, id)).budget?.total.spent_usd).toBe(spent)
  })

  it('applies to a sub-agent with a preset of its own, below the limit of its parent', async () => {
    const rich = `name: rich\nrole: r\nmax_tokens: ${LONG}\nmax_total_cost_usd: 5\n`
    await using home = await testHostWithBudget(() => text('Hello.'), {
      files: { ...miser(BOUND / 2), 'profiles/rich.yaml': rich },
    })
    const id = await spawn(home, 'rich')
    const below = await child(home, id, 'helper-1', 'miser')
    await expect(call(home, below)).rejects.toThrow(/^helper-1 has spent \$0\.00 in total, this call may cost/)
    await call(home, id)
    expect((await detail(home, below)).budget?.total).toMatchObject({ agent_id: 'helper-1', spent_usd: 0 })
  })

  it('makes the agent wait, with one event and the value that would free it, until the limit is raised', async () => {
    const script = (request: { prompt: string; n: number }) =>
      asksForGoal(request)
        ? text(JSON.stringify({ goal: 'Write a page about hedgehogs' }))
        : toolCall('list_dir', { path: `./${request.n}` })
    await using home = await testHostWithBudget(script, { files: miser(4 * BOUND, 'max_steps: 50\n') })
    const id = await spawn(home, 'miser')
    home.kernel.heartbeat.start()
    await until(home, 'cycle_end', ({ result }) => result === 'guarded')
    const { micros } = tokensCharged(home.server.bill)
    expect(micros).toBeGreaterThan(BOUND / 10)
    expect(micros).toBeLessThanOrEqual(4 * BOUND)
    const why = new RegExp(
      `${id} has spent \\$0\\.0\\d+ in total, this call may cost \\$0\\.01\\d*, and its profile's max_total_cost_usd is \\$0\\.04\\d*; raise that to \\$0\\.0\\d+ or more, or lower max_tokens\\.`,
    )
    const asked = home.server.requests.length
    for (let beats = 0; beats < 3; beats++) await runHeartbeat(home)
    expect(home.server.requests).toHaveLength(asked)
    expect(await detail(home, id)).toMatchObject({ status: 'waiting', waiting_for: expect.stringMatching(why) })
    const operation = (name: string) => home.kernel.list(Operations).find(each => each.name === name)!
    expect(operation('agents.why').render!(await home.kernel.invoke('agents.why', { id }))).toMatch(why)
    const check = home.kernel.list(DoctorChecks).find(({ name }) => name === 'waiting_agents')!
    expect(await check.run()).toMatchObject({ level: 'warn', message: expect.stringMatching(why) })
    const page = operation('agents.get').render!(await home.kernel.invoke('agents.get', { id }))
    expect(page).toMatch(/max_cost_usd +no limit; \$0\.0\d+ spent on pursuits/)
    expect(page).toMatch(/max_total_cost_usd +\$0\.0408; \$0\.0\d+ spent in total$/m)
    expect((await eventsOf(home, 'agent_budget_exhausted')).map(({ data }) => data)).toEqual([
      { agent_id: id, key: 'max_total_cost_usd', limit_usd: (4 * BOUND) / 1e6, spent_usd: micros / 1e6 },
    ])

    await home.write(miser(1e6))
    const next = home.server.request(asked + 1)
    await runHeartbeat(home)
    await next
  })

  it('counts what a call may cost, whatever the daemon reserves for its own limit', async () => {
    await using home = await testHostWithBudget(() => text('Hello.'), {
      files: miser(BOUND + BOUND / 2),
      config: { daemon: { budget_usd: 5 } },
    })
    const id = await spawn(home, 'miser')
    await call(home, id)
    expect((await status(home)).tight).toBe(false)
    await using recording = await testHostWithBudget(() => text('Hello.'), {
      files: miser(1),
      config: { daemon: { budget_mode: 'record_only' } },
    })
    const other = await spawn(recording, 'miser')
    await call(recording, other)
    await expect(call(recording, other)).rejects.toMatchObject({ code: 'agent_budget_exhausted' })
    expect(await rows(recording)).toHaveLength(1)
  })

  it('cannot be evaded by a model of unknown price', async () => {
    await using home = await testHostWithBudget(() => text('Hello.'), { files: { ...miser(BOUND), 'models.yaml': '' } })
    const id = await spawn(home, 'miser')
    await expect(call(home, id)).rejects.toThrow("refused while its profile's max_total_cost_usd is set")
    const below = await child(home, id, 'helper-1')
    await expect(call(home, below)).rejects.toThrow(`refused while max_total_cost_usd of ${id} is set`)
    expect(home.server.requests).toEqual([])
  })
})
