import { describe, expect, it } from 'vitest'
import { Rest } from '#interfaces/rest/contract'
import rest from '#interfaces/rest/index'
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

/** A gated test host that listens, with one call waiting. */
async function listening(list: Step[] = [toolCall('send', { to: 'ann' }), finish()]) {
  const home = await testHostWithApprovals(list, { builtins: [rest] })
  const { url } = await home.kernel.use(Rest).listen({ host: '127.0.0.1', port: 0 })
  const ask = async (path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const answer = await fetch(url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    // biome-ignore lint/suspicious/noExplicitAny: what a test expects of it is its own business.
    return { status: answer.status, headers: answer.headers, json: (await answer.json()) as any }
  }
  const waiting = await waitForPendingCall(home)
  return Object.assign(home, { ask, waiting, path: `/agents/${home.id}/approvals/${waiting.approval_id}` })
}

describe('GET /approvals', () => {
  it('is the queue of all agents, oldest first, in windows', async () => {
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
    expect(window.headers.get('x-total-count')).toBe('3')
    expect((await home.ask('/approvals?limit=2')).headers.get('link')).toContain('offset=2')
    expect((await home.ask('/approvals?limit=2&offset=99')).json).toEqual([])
    for (const limit of ['0', '-1', '1001', 'abc'])
      expect((await home.ask(`/approvals?limit=${limit}`)).status).toBe(422)
  })

  it('of one agent has its own only', async () => {
    await using home = await listening()
    const other = await spawn(home)
    expect((await home.ask(`/agents/${home.id}/approvals`)).json).toMatchObject([{ agent_id: home.id }])
    expect((await home.ask(`/agents/${other}/approvals`)).json).toEqual([])
    expect((await home.ask('/agents/nobody/approvals')).status).toBe(404)
  })

  it('can be asked for a history, with who decided and when', async () => {
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

describe('POST /agents/{id}/approvals/{approval_id}', () => {
  it('approves; the call runs once, and a second decision gets the first', async () => {
    await using home = await listening()
    const first = await home.ask(home.path, { decision: 'approve' }, { 'x-svc-user': 'alice' })
    expect(first).toMatchObject({ status: 200, json: { status: 'approved', resolved_by: 'alice' } })
    await home.clock.advance(1_000)
    await waitForCompletedGoal(home)
    expect(home.runs).toHaveLength(1)
    const second = await home.ask(home.path, { decision: 'deny' }, { 'x-svc-user': 'bob' })
    expect(second).toMatchObject({
      status: 409,
      json: { code: 'approval_resolved', detail: expect.stringMatching(/approved already, by alice/) },
    })
    expect((await home.ask(home.path)).json).toMatchObject({ status: 'consumed', resolved_by: 'alice' })
  })

  it.each([['APPROVE'], [true], [''], [undefined], [null], [['approve']]])(
    'with the decision %j is a 400 that names both',
    async decision => {
      await using home = await listening()
      const answer = await home.ask(home.path, { decision })
      expect(answer).toMatchObject({ status: 400, json: { code: 'unknown_decision' } })
      expect(answer.json.detail).toMatch(/approve.*deny/)
      expect((await home.ask(home.path)).json.status).toBe('pending')
    },
  )

  it('of another agent is a 404, and changes nothing', async () => {
    await using home = await listening()
    const other = await spawn(home)
    const answer = await home.ask(`/agents/${other}/approvals/${home.waiting.approval_id}`, { decision: 'approve' })
    expect(answer).toMatchObject({ status: 404, json: { code: 'approval_not_found' } })
    expect((await home.ask(`/agents/${other}/approvals/${home.waiting.approval_id}`)).status).toBe(404)
    expect((await home.ask(`/agents/${home.id}/approvals/ap-nothing`, { decision: 'approve' })).status).toBe(404)
    expect((await home.ask(home.path)).json.status).toBe('pending')
  })

  it('is refused to an agent, its own or another', async () => {
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

  it('takes other arguments, as the tool does, and no other fields', async () => {
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

  it('is won by one of fifty at once; the others get that decision, and the call runs once', async () => {
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
