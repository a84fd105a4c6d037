import { describe, expect, it } from 'vitest'
import rest from '#interfaces/rest/index'
import { listen } from '../../interfaces/rest/rest-server.ts'
import { toolCall, until } from '../../support/index.ts'
import { spawn } from '../core/models/model-host.ts'
import {
  finish,
  pending,
  type Step,
  testHostWithApprovals,
  waitForCompletedGoal,
  waitForPendingCall,
} from './approvals-host.ts'

/** Starts a test host with approvals and an HTTP server, and waits for one pending call. */
async function listening(list: Step[] = [toolCall('send', { to: 'ann' }), finish()]) {
  const home = await testHostWithApprovals(list, { builtins: [rest] })
  const { send: ask, url } = await listen(home.kernel)
  const waiting = await waitForPendingCall(home)
  return Object.assign(home, { ask, url, waiting, path: `/agents/${home.id}/approvals/${waiting.approval_id}` })
}

describe('GET /approvals', () => {
  it('returns the queue of all agents, oldest first, in pages', async () => {
    await using home = await listening([
      toolCall('send', { to: 'ann' }),
      toolCall('send', { to: 'bob' }),
      toolCall('send', { to: 'cy' }),
    ])
    for (let n = 2; n <= 3; n++) {
      await home.clock.advance(5)
      await spawn(home)
      await until(async () => (await pending(home)).length === n)
    }
    const all = await home.ask('/approvals')
    expect(all.json).toHaveLength(3)
    const times = all.json.map((each: { created_at: string }) => each.created_at)
    expect(times).toEqual([...times].sort())
    const window = await home.ask('/approvals?limit=2&offset=1')
    expect(window.json).toEqual(all.json.slice(1))
    expect(window.headers['x-total-count']).toBe('3')
    expect((await home.ask('/approvals?limit=2')).headers.link).toContain('offset=2')
    expect((await home.ask('/approvals?limit=2&offset=99')).json).toEqual([])
    for (const limit of ['0', '-1', '1001', 'abc'])
      expect((await home.ask(`/approvals?limit=${limit}`)).status).toBe(422)
  })

  it("returns only the agent's own approvals under /agents/{id}", async () => {
    await using home = await listening()
    const other = await spawn(home)
    expect((await home.ask(`/agents/${home.id}/approvals`)).json).toMatchObject([{ agent_id: home.id }])
    expect((await home.ask(`/agents/${other}/approvals`)).json).toEqual([])
    expect((await home.ask('/agents/nobody/approvals')).status).toBe(404)
  })

  it('returns decided approvals on request, with who decided and when', async () => {
    await using home = await listening()
    await home.ask(home.path, { decision: 'deny', reason: 'no' }, { 'x-svc-user': 'alice' })
    expect((await home.ask('/approvals')).json).toEqual([])
    expect((await home.ask(`/agents/${home.id}/approvals?status=all`)).json).toMatchObject([
      { status: 'denied', resolved_by: 'alice', reason: 'no', resolved_at: expect.stringMatching(/Z$/) },
    ])
    expect((await home.ask(`/approvals?status=consumed`)).json).toEqual([])
    expect((await home.ask(`/approvals?status=nonsense`)).status).toBe(422)
  })
})

it('a call is shown without a preview where its tool returns none, and the log says why', async () => {
  await using home = await listening([toolCall('print', {}), finish()])
  expect(await home.ask(home.path)).toMatchObject({ status: 200, json: { tool_name: 'print', preview: null } })
  expect(home.logged('preview of the tool print failed: it must return a string, not an array')).toHaveLength(1)
})

describe('POST /agents/{id}/approvals/{approval_id}', () => {
  it('approves a call, which runs once; a second decision is refused and names the first', async () => {
    await using home = await listening()
    const first = await home.ask(home.path, { decision: 'approve' }, { 'x-svc-user': 'alice' })
    expect(first).toMatchObject({ status: 200, json: { status: 'approved', resolved_by: 'alice' } })
    await home.clock.advance(1_000)
    await waitForCompletedGoal(home)
    expect(home.runs).toHaveLength(1)
    const second = await home.ask(home.path, { decision: 'deny' }, { 'x-svc-user': 'bob' })
    expect(second).toMatchObject({
      status: 409,
      json: { code: 'approval_resolved', detail: expect.stringMatching(/was already approved, by alice/) },
    })
    expect((await home.ask(home.path)).json).toMatchObject({ status: 'consumed', resolved_by: 'alice' })
  })

  it('shows a decision without a user as one of the operator, not as one "by default"', async () => {
    await using home = await listening()
    expect(await home.ask(home.path, { decision: 'deny' })).toMatchObject({ json: { resolved_by: 'default' } })
    const second = await home.ask(home.path, { decision: 'approve' })
    expect(second.json).toMatchObject({ detail: expect.stringMatching(/was already denied, by the operator/) })
    const textOf = async (path: string) => (await fetch(home.url + path, { headers: { accept: 'text/plain' } })).text()
    expect(await textOf('/approvals?status=all')).toContain('denied by the operator')
  })

  it.each([['APPROVE'], [true], [''], [undefined], [null], [['approve']]])(
    'answers 400 to the decision %j and names the valid ones',
    async decision => {
      await using home = await listening()
      const answer = await home.ask(home.path, { decision })
      expect(answer).toMatchObject({ status: 400, json: { code: 'unknown_decision' } })
      expect(answer.json.detail).toMatch(/approve.*deny/)
      expect((await home.ask(home.path)).json.status).toBe('pending')
    },
  )

  it('answers 404 for an approval of another agent, and changes nothing', async () => {
    await using home = await listening()
    const other = await spawn(home)
    const answer = await home.ask(`/agents/${other}/approvals/${home.waiting.approval_id}`, { decision: 'approve' })
    expect(answer).toMatchObject({ status: 404, json: { code: 'approval_not_found' } })
    expect((await home.ask(`/agents/${other}/approvals/${home.waiting.approval_id}`)).status).toBe(404)
    expect((await home.ask(`/agents/${home.id}/approvals/ap-nothing`, { decision: 'approve' })).status).toBe(404)
    expect((await home.ask(home.path)).json.status).toBe('pending')
  })

  it("rejects decisions by agents, the agent's own or another", async () => {
    await using home = await listening()
    const other = await spawn(home)
    for (const user of [home.id, other]) {
      const answer = await home.ask(home.path, { decision: 'approve' }, { 'x-svc-user': user })
      expect(answer).toMatchObject({ status: 403, json: { code: 'agent_cannot_decide' } })
      const rule = await home.ask('/approval-rules', { tool_name: 'send', uses: 1 }, { 'x-svc-user': user })
      expect(rule.status).toBe(403)
    }
    expect((await home.ask(home.path)).json.status).toBe('pending')
  })

  it('accepts other arguments if they fit the tool, and no other fields', async () => {
    await using home = await listening()
    const bad = await home.ask(home.path, { decision: 'approve', arguments: { to: 7 } })
    expect(bad).toMatchObject({ status: 422, json: { errors: [{ path: 'arguments.to' }] } })
    expect((await home.ask(home.path, { decision: 'approve', args: {} })).status).toBe(422)
    const good = await home.ask(home.path, { decision: 'approve', arguments: { to: 'eve' } })
    expect(good.json).toMatchObject({ edited: true, arguments: { to: 'eve' }, original_arguments: { to: 'ann' } })
    await home.clock.advance(1_000)
    await waitForCompletedGoal(home)
    expect(home.runs).toEqual([{ tool: 'send', args: { to: 'eve' } }])
  })

  it('accepts one of 50 concurrent decisions; the others get 409, and the call runs at most once', async () => {
    await using home = await listening()
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        home.ask(home.path, { decision: n % 2 ? 'approve' : 'deny' }, { 'x-svc-user': `user-${n}` }),
      ),
    )
    const won = answers.filter(({ status }) => status === 200)
    expect(won).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(49)
    await home.clock.advance(1_000)
    await waitForCompletedGoal(home)
    expect(home.runs).toHaveLength(won[0]!.json.status === 'approved' ? 1 : 0)
  })
})
