import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { AgentSummary } from '#core/agents/contract'
import type { SubAgent } from '#core/sub-agents/contract'
import subAgents from '#core/sub-agents/index'
import { Rest } from '#interfaces/rest/contract'
import rest from '#interfaces/rest/index'
import daemon from '#platform/daemon/index'
import type { RetentionReport } from '#platform/retention/contract'
import retention from '#platform/retention/index'
import type { BudgetStatus } from '#safety/budget/contract'
import { runHeartbeat, type TestHost, toolCall, until, waitUntilIdle } from '../../../support/index.ts'
import { finish, goalAnswer } from '../../safety/approvals-host.ts'
import { testHostWithBudget } from '../../safety/budget-host.ts'
import { asksForGoal, spawn } from '../models/model-host.ts'

const HOUR = 3_600_000
const SPAWN = { name: 'scout', role: 'looks around', task: 'Find out where the sheep are' }
const WRITE = toolCall('file_write', { path: 'sheep.txt', content: 'eleven' })

/**
 * Starts a server with a worker and its sub-agent, which wrote a file and has ended.
 * @param wait whether the worker's goal waits for the sub-agent
 */
async function serverWithEndedAgent({
  wait = false,
  config = {},
}: {
  wait?: boolean
  config?: Record<string, unknown>
} = {}) {
  let goals = 0
  const steps = {
    worker: [toolCall('spawn_sub_agent', SPAWN), ...(wait ? [toolCall('wait_for_sub_agents')] : [])],
    scout: [WRITE, finish('They are behind the hill')],
  }
  const home = await testHostWithBudget(
    request => {
      if (asksForGoal(request)) return goalAnswer(goals++ === 0 ? 'Count all of the sheep' : '')
      const isScout = String(request.body.messages[0]?.content).includes('You are scout.')
      return steps[isScout ? 'scout' : 'worker'].shift() ?? (wait ? toolCall('list_dir', {}) : finish('counted'))
    },
    { builtins: [daemon, rest, retention, subAgents], config },
  )
  const id = await spawn(home)
  home.kernel.heartbeat.start()
  const children = () => home.kernel.invoke('sub_agents.list', { id }) as Promise<SubAgent[]>
  await until(async () => {
    await runHeartbeat(home)
    return (await children())[0]?.status === 'completed'
  })
  for (let n = 0; n < 2; n++) await runHeartbeat(home)
  await waitUntilIdle(home)
  const scout = (await children())[0]!
  const { url } = await home.kernel.use(Rest).listen({ host: '127.0.0.1', port: 0 })
  const get = async <T>(path: string) => {
    const answer = await fetch(`${url}${path}`)
    return { status: answer.status, headers: answer.headers, json: (await answer.json()) as T }
  }
  return Object.assign(home, { id, scout, scoutId: scout.sub_agent_id, children, get })
}

const idsOf = (agents: readonly AgentSummary[]) => agents.map(({ agent_id }) => agent_id)
const retain = ({ kernel }: TestHost, input: object = {}) =>
  kernel.invoke('retention.run', input) as Promise<RetentionReport>

describe('ended sub-agents', () => {
  it.each(['/agents', '/status'])('are listed in %s by default, and hidden and counted with all=false', async path => {
    await using home = await serverWithEndedAgent()
    const { id, scoutId, get } = home
    const whole = await get<AgentSummary[]>(path)
    expect(idsOf(whole.json)).toEqual([id, scoutId])
    expect(whole.headers.get('x-hidden-count')).toBeNull()

    const some = await get<AgentSummary[]>(`${path}?all=false&limit=5`)
    expect(idsOf(some.json)).toEqual([id])
    expect(some.headers.get('x-hidden-count')).toBe('1')
    expect(some.headers.get('x-total-count')).toBe('1')

    const dead = await get<AgentSummary[]>(`${path}?status=dead&limit=1`)
    expect(idsOf(dead.json)).toEqual([scoutId])
    expect(dead.headers.get('x-total-count')).toBe('1')
    expect((await get<AgentSummary[]>(`${path}?status=dead&all=false`)).json).toEqual([])
    expect(idsOf((await get<AgentSummary[]>(`${path}?status=idle`)).json)).toEqual([id])
    expect((await get<AgentSummary[]>(`${path}?status=paused`)).json).toEqual([])
    const wrong = await get<{ detail: string }>(`${path}?status=asleep`)
    expect(wrong).toMatchObject({ status: 422, json: { detail: expect.stringContaining('status') } })
  })

  it('are removed after a day; their files go to the trash, while spend, results and transcripts stay', async () => {
    await using home = await serverWithEndedAgent()
    const { id, scoutId, scout, get, clock, root } = home
    const file = join(root, '.svc/workspaces', scoutId, 'sheep.txt')
    expect(readFileSync(file, 'utf8')).toBe('eleven')
    const spent = (await get<BudgetStatus>('/budget')).json.spent
    expect(spent.usd).toBeGreaterThan(0)
    const transcript = `/goals/${scout.goal_id}/transcript`
    const said = (await get<object[]>(transcript)).json
    expect(said.length).toBeGreaterThan(1)

    clock.jump(23 * HOUR)
    expect((await retain(home)).rows.ended_sub_agents).toBe(0)
    clock.jump(2 * HOUR)
    expect((await retain(home, { dry_run: true })).rows.ended_sub_agents).toBe(1)
    expect((await retain(home)).rows).toMatchObject({ ended_sub_agents: 1, sub_agents: 0, ended_transcripts: 0 })

    expect(idsOf((await get<AgentSummary[]>('/agents')).json)).toEqual([id])
    expect((await get(`/agents/${scoutId}`)).status).toBe(404)
    expect(existsSync(file)).toBe(false)
    const [trash] = readdirSync(join(root, '.svc/trash'))
    expect(trash).toMatch(new RegExp(`^${scoutId}-\\d+$`))
    expect(readFileSync(join(root, '.svc/trash', trash!, 'workspaces/sheep.txt'), 'utf8')).toBe('eleven')
    expect((await get<BudgetStatus>('/budget')).json.spent).toEqual(spent)
    expect(await home.children()).toEqual([scout])
    expect((await get<object[]>(transcript)).json).toEqual(said)

    clock.jump(31 * 24 * HOUR)
    expect((await retain(home)).rows).toMatchObject({ sub_agents: 1 })
    expect(await home.children()).toEqual([])
    expect((await get(transcript)).status).toBe(404)
    expect((await get<BudgetStatus>('/budget')).json.spent).toEqual(spent)
  })

  it('stay while a goal that waited for them is active, and as long as the configuration says', async () => {
    await using home = await serverWithEndedAgent({ wait: true, config: { retention: { ended_sub_agent_hours: 2 } } })
    const { id, scoutId, get, clock, kernel } = home
    clock.jump(3 * HOUR)
    expect((await retain(home)).rows.ended_sub_agents).toBe(0)
    expect(idsOf((await get<AgentSummary[]>('/agents')).json)).toEqual([id, scoutId])
    await kernel.invoke('goals.abandon_all', { agent: id })
    expect((await retain(home)).rows.ended_sub_agents).toBe(1)
    expect(idsOf((await get<AgentSummary[]>('/agents')).json)).toEqual([id])
  })

  it('lose their transcripts when the agent at the top is deleted', async () => {
    await using home = await serverWithEndedAgent()
    const { id, scout, get, clock, kernel } = home
    clock.jump(25 * HOUR)
    await retain(home)
    await kernel.invoke('agents.delete', { id })
    expect((await get(`/goals/${scout.goal_id}/transcript`)).status).toBe(404)
  })
})
