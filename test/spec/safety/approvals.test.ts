import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Fleet } from '#core/agents/contract'
import type { Message } from '#core/models/contract'
import { definePlugin } from '#kernel'
import { describeEvent } from '#lib/event-text'
import { DaemonStarts } from '#platform/daemon/contract'
import { Store } from '#platform/store/contract'
import { ApprovalReviewers, type ApprovalSummary, type Review } from '#safety/approvals/contract'
import approvals from '#safety/approvals/index'
import questions from '#safety/questions/index'
import a2a from '#society/a2a/index'
import { writeDirectly } from '../../support/direct-access.ts'
import { runHeartbeat, together, toolCall, until, waitUntilIdle } from '../../support/index.ts'
import { asksForGoal, detail, goalsOf, spawn, testHostWithModel } from '../core/models/model-host.ts'
import {
  decide,
  finish,
  history,
  pending,
  results,
  show,
  steppedIn,
  steps,
  testHostWithApprovals,
  waitForCompletedGoal,
  waitForPendingCall,
} from './approvals-host.ts'

const send = (to: string, more = {}) => toolCall('send', { to, ...more })

describe('a gated tool', () => {
  it('waits for approval without running; its goal stays active and no model is called', async () => {
    const text = 'Dear Ann, '.repeat(50)
    await using home = await testHostWithApprovals([toolCall('send', { text, to: 'ann' }), finish()])
    const asked = await waitForPendingCall(home)
    expect(asked).toMatchObject({ agent_id: home.id, tool_name: 'send', arguments: { to: 'ann' }, status: 'pending' })
    expect(asked.goal_id).toBe((await goalsOf(home, home.id))[0]?.goal_id)
    expect(await detail(home, home.id)).toMatchObject({
      status: 'waiting_approval',
      next: { at: null, reason: expect.stringContaining(asked.approval_id) },
    })
    expect(((await home.kernel.invoke('agents.fleet')) as Fleet).agents).toMatchObject([
      {
        held: expect.stringMatching(
          /^send waits for your approval: to "ann", text "(Dear Ann, )+.*… 3\d\d more characters$/,
        ),
      },
    ])
    const before = home.server.requests.length
    const results: string[] = []
    home.kernel.hooks.on('cycle_end', ({ result }) => void results.push(result))
    for (let n = 0; n < 3; n++) await runHeartbeat(home)
    expect(results).toEqual(['parked', 'parked', 'parked'])
    expect(home.server.requests).toHaveLength(before)
    expect(home.runs).toEqual([])
    expect((await goalsOf(home, home.id))[0]?.status).toBe('active')
    const calls = await home.kernel.use(Store).all('SELECT state FROM tool_calls')
    expect(calls).toEqual([{ state: 'parked' }])
  })

  it('is named beside an open question of its turn, by the agent and by its goal', async () => {
    const both = together(send('ann'), toolCall('ask_operator', { question: 'Is Ann away?' }))
    await using home = await testHostWithApprovals([both, finish()], { builtins: [questions] })
    const { approval_id } = await waitForPendingCall(home)
    const [asked] = (await home.kernel.invoke('questions.list', {})) as { question_id: string }[]
    const { reason } = (await detail(home, home.id)).next
    expect(reason).toBe(
      `The agent waits for a decision on ${approval_id}, and for your answer to ${asked!.question_id}. List them with: svc approvals and svc questions`,
    )
    const [goal] = await goalsOf(home, home.id)
    expect(goal?.waits_for).toBe(
      `your decision on ${approval_id}, see: svc approvals; your answer to ${asked!.question_id}, see: svc questions`,
    )
  })

  it('runs in the next cycle after approval, from the stored call, and the model gets its result', async () => {
    await using home = await testHostWithApprovals([send('ann'), finish()])
    const { approval_id } = await waitForPendingCall(home)
    expect(await decide(home, approval_id, { decision: 'approve', reason: 'fine' })).toMatchObject({
      status: 'approved',
      resolved_by: 'cli',
      reason: 'fine',
    })
    await waitForCompletedGoal(home)
    expect(home.runs).toEqual([{ tool: 'send', args: { to: 'ann' } }])
    expect(results(home.server)).toEqual(['The operator approved this call and wrote: fine\n\nsend ran 1'])
    // One request for the call and one for what follows, none in between.
    expect(steppedIn(home.server)).toBe(2)
    const [row] = await home.kernel
      .use(Store)
      .all<{ state: string; approval_id: string; call_id: string }>(
        'SELECT state, approval_id, call_id FROM tool_calls',
      )
    expect(row).toMatchObject({ state: 'done', approval_id })
    expect(await show(home, approval_id)).toMatchObject({ status: 'consumed', call_id: row?.call_id })
  })

  it('does not run when denied: the agent gets the reason and continues', async () => {
    await using home = await testHostWithApprovals([send('ann'), toolCall('look'), finish()])
    const { approval_id } = await waitForPendingCall(home)
    await decide(home, approval_id, { decision: 'deny', reason: 'not to Ann' })
    await waitForCompletedGoal(home)
    expect(home.runs.map(run => run.tool)).toEqual(['look'])
    expect(results(home.server)[0]).toMatch(
      /^Error: not run: the operator denied it \(not to Ann\)\. Do what the reason says;/,
    )
    const [{ goal_id } = { goal_id: '' }] = await goalsOf(home, home.id)
    const said = (await home.kernel.invoke('goals.transcript', { goal_id })) as Message[]
    expect(said.filter(({ from_operator }) => from_operator).map(({ name }) => name)).toEqual(['send'])
    expect(await show(home, approval_id)).toMatchObject({ status: 'denied', used_at: null })
  })

  it('delays the calls after it, which may need its effects', async () => {
    await using home = await testHostWithApprovals([
      together(toolCall('look', { n: 1 }), send('ann'), toolCall('look', { n: 2 })),
      finish(),
    ])
    const { approval_id } = await waitForPendingCall(home)
    expect(home.runs.map(run => run.args)).toEqual([{ n: 1 }])
    await decide(home, approval_id, { decision: 'approve' })
    await waitForCompletedGoal(home)
    expect(results(home.server)).toEqual(['look ran 1', 'send ran 2', 'look ran 3'])
  })

  it.each([
    ['a nudge', 'approve'],
    ['a message of the mailbox', 'approve'],
    ['the denial', 'deny'],
  ])('keeps the calls after it from running before the agent reads %s', async (words, decision) => {
    const builtins = words === 'a message of the mailbox' ? [a2a] : []
    const steps = [together(send('ann'), toolCall('look'), send('bob')), toolCall('look', { n: 2 }), finish()]
    await using home = await testHostWithApprovals(steps, { builtins })
    await waitForPendingCall(home)
    if (words === 'a nudge') await home.kernel.invoke('agents.nudge', { id: home.id, message: 'Do not look.' })
    else if (decision === 'approve') await home.kernel.invoke('messages.send', { id: home.id, body: 'Do not look.' })
    for (const { approval_id, arguments: args } of await pending(home)) {
      const isFirst = (args as { to: string }).to === 'ann'
      await decide(home, approval_id, isFirst ? { decision, reason: 'Do not look.' } : { decision: 'approve' })
    }
    await waitForCompletedGoal(home)
    const runs = [...(decision === 'approve' ? ['send'] : []), 'send', 'look']
    expect(home.runs.map(run => run.tool)).toEqual(runs)
    expect(home.runs.at(-1)?.args).toEqual({ n: 2 })
    const request = home.server.requests.filter(each => !asksForGoal(each))[1]!
    expect(results({ requests: [request] })[1]).toBe(
      'Error: not run: while it waited, the operator wrote to you. Read that first, then make the call again if it is still right.',
    )
    expect(request.prompt).toContain('Do not look.')
  })

  it('waits together with the later ones of its answer, which run in their order however they are decided', async () => {
    await using home = await testHostWithApprovals([
      together(send('ann'), send('bob'), toolCall('look'), send('eve')),
      finish(),
    ])
    await waitForPendingCall(home)
    await until(async () => (await pending(home)).length === 3)
    const idOf = new Map((await pending(home)).map(each => [(each.arguments as { to: string }).to, each.approval_id]))
    await decide(home, idOf.get('bob')!, { decision: 'approve' })
    await decide(home, idOf.get('eve')!, { decision: 'deny', reason: 'not to Eve' })
    await runHeartbeat(home)
    expect(home.runs).toEqual([])
    await decide(home, idOf.get('ann')!, { decision: 'approve' })
    await waitForCompletedGoal(home)
    expect(home.runs.map(run => run.tool)).toEqual(['send', 'send', 'look'])
    expect(results(home.server)).toEqual([
      'send ran 1',
      'send ran 2',
      'look ran 3',
      expect.stringContaining('not to Eve'),
    ])
  })

  it.each([
    ['approve', 'at once'],
    ['deny', 'after the denial'],
  ])('is followed by the end of the goal of the same turn after its decision: %s', async (decision, result) => {
    const steps = [together(send('ann'), finish('at once')), finish('after the denial')]
    await using home = await testHostWithApprovals(steps)
    const { approval_id } = await waitForPendingCall(home)
    expect((await goalsOf(home, home.id))[0]?.status).toBe('active')
    await decide(home, approval_id, { decision })
    await waitForCompletedGoal(home)
    expect(home.runs).toHaveLength(decision === 'approve' ? 1 : 0)
    expect((await goalsOf(home, home.id))[0]?.result).toBe(result)
    if (decision === 'deny') expect(results(home.server)[1]).toContain('another call of this turn failed')
  })

  it('is one that is configured or requires approval itself, unless auto_approve lists it', async () => {
    const config = { approval: { enabled: true, require_for: ['look', 'again'], auto_approve: ['send', 'again'] } }
    await using home = await testHostWithApprovals(
      [together(send('ann'), toolCall('again'), toolCall('wipe'), toolCall('look')), finish()],
      {
        config,
      },
    )
    await waitForPendingCall(home)
    expect((await pending(home)).map(each => each.tool_name).sort()).toEqual(['look', 'wipe'])
    expect(home.runs.map(run => run.tool).sort()).toEqual(['again', 'send'])
  })

  it('runs like any other tool while approvals are disabled', async () => {
    await using home = await testHostWithApprovals([send('ann'), finish()], {
      config: { approval: { enabled: false } },
    })
    await waitForCompletedGoal(home)
    expect(home.runs).toHaveLength(1)
    expect(await history(home, home.id)).toEqual([])
  })

  it('with invalid arguments returns an error to the model and requests no approval', async () => {
    await using home = await testHostWithApprovals([toolCall('send', { to: { name: 'ann' } }), finish()])
    await waitForCompletedGoal(home)
    expect(results(home.server)[0]).toMatch(/to: must be a string, not an object/)
    expect(await history(home, home.id)).toEqual([])
  })

  it('that is invalid, denied or fails is logged so', async () => {
    const steps = [toolCall('send', { to: {} }), send('ann'), toolCall('file_read', { path: 'none' }), finish()]
    await using home = await testHostWithApprovals(steps)
    const lines: string[] = []
    home.kernel.hooks.on('tool_result', payload => void lines.push(describeEvent('tool_result', { ...payload })))
    await decide(home, (await waitForPendingCall(home)).approval_id, { decision: 'deny' })
    await waitForCompletedGoal(home)
    expect(lines).toEqual([
      expect.stringMatching(
        /^called send, which did not run: \{"to":\{\}\} → Error: .*to: must be a string, not an object/,
      ),
      expect.stringMatching(/^called send, which did not run: .*"ann".* → .*denied/),
      'used file_read, which failed: {"path":"none"}',
    ])
  })

  it('that cannot succeed, by its own check, returns the error to the model and requests no approval', async () => {
    await using home = await testHostWithApprovals([
      toolCall('post', { to: 'nowhere' }),
      toolCall('post', { to: 'ann' }),
      finish(),
    ])
    const { approval_id } = await waitForPendingCall(home)
    expect(results(home.server)).toEqual(['Error: there is no address "nowhere"'])
    await decide(home, approval_id, { decision: 'approve' })
    await waitForCompletedGoal(home)
    expect(home.runs).toEqual([{ tool: 'post', args: { to: 'ann' } }])
    expect(await history(home, home.id)).toHaveLength(1)
  })

  it('needs one approval only, also if each pursuit starts with an empty conversation', async () => {
    await using home = await testHostWithApprovals([send('ann'), finish()], {
      config: { approval: { enabled: true }, daemon: { pursuit_resume: false } },
    })
    const { approval_id } = await waitForPendingCall(home)
    await decide(home, approval_id, { decision: 'approve' })
    await waitForCompletedGoal(home)
    expect(home.runs).toHaveLength(1)
    expect(await history(home, home.id)).toHaveLength(1)
  })
})

describe('a file_write that is approved after a restart', () => {
  const settings = {
    builtins: [approvals],
    clock: 'system' as const,
    config: { approval: { enabled: true, require_for: ['file_write'] }, daemon: { heartbeat: 0.2, min_rest: 0 } },
  }

  it.each([
    { what: 'replaces the file that the agent had read', edit: undefined, content: 'new', result: /^Wrote 3 bytes/ },
    { what: 'is refused if the file changed since', edit: 'mine', content: 'mine', result: /you have not read it/ },
  ])('$what', async ({ edit, content, result }) => {
    const write = toolCall('file_write', { path: 'a.txt', content: 'new' })
    await using first = await testHostWithModel(steps(toolCall('file_read', { path: 'a.txt' }), write), settings)
    const id = await spawn(first)
    const file = join(first.root, '.svc/workspaces', id, 'a.txt')
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, 'old')
    first.kernel.heartbeat.start()
    await until(async () => (await pending(first)).length > 0)
    const [{ approval_id }] = (await pending(first)) as [ApprovalSummary]
    await using second = await testHostWithModel(steps(finish()), { ...settings, root: first.root, seed: 7 })
    await first.kernel.heartbeat.stop()
    if (edit) await writeFile(file, edit)
    await second.kernel.invoke('approvals.decide', { approval_id, decision: 'approve' }, { via: 'cli' })
    second.kernel.heartbeat.start()
    await waitForCompletedGoal(Object.assign(second, { id }))
    expect(await readFile(file, 'utf8')).toBe(content)
    const [request] = second.server.requests.filter(each => !asksForGoal(each))
    expect(results({ requests: [request!] }).at(-1)).toMatch(result)
  })
})

describe('an approval', () => {
  it('applies to its arguments only: other arguments need a new one', async () => {
    await using home = await testHostWithApprovals([send('ann'), send('bob'), finish()])
    await decide(home, (await waitForPendingCall(home)).approval_id, { decision: 'approve' })
    await until(async () => (await pending(home))[0]?.args_sha256 !== undefined)
    expect((await pending(home))[0]).toMatchObject({ arguments: { to: 'bob' } })
    await waitUntilIdle(home)
    expect(home.runs).toEqual([{ tool: 'send', args: { to: 'ann' } }])
  })

  it('is used up by one run: an identical later call needs a new one', async () => {
    await using home = await testHostWithApprovals([send('ann'), send('ann'), finish()])
    const first = await waitForPendingCall(home)
    await decide(home, first.approval_id, { decision: 'approve' })
    await until(async () => (await pending(home)).length > 0)
    const second = await waitForPendingCall(home)
    expect(second.approval_id).not.toBe(first.approval_id)
    expect(second.args_sha256).toBe(first.args_sha256)
    expect(home.runs).toHaveLength(1)
  })

  it('is shared by identical calls of a turn, whatever their key order and number format, and used once', async () => {
    const same = ['{"to":"ann","n":1}', '{"n":1.0,"to":"ann"}', '{ "n" : 1e0, "to": "a\\u006en" }']
    await using home = await testHostWithApprovals([together(...same.map(args => toolCall('send', args))), finish()])
    const { approval_id } = await waitForPendingCall(home)
    expect(await pending(home)).toHaveLength(1)
    await decide(home, approval_id, { decision: 'approve' })
    await waitForCompletedGoal(home)
    expect(home.runs).toHaveLength(1)
    const answers = results(home.server)
    expect(answers.filter(each => each === 'send ran 1')).toHaveLength(1)
    expect(answers.filter(each => /another of your calls was identical/.test(each))).toHaveLength(2)
  })

  it('treats two Unicode forms of a letter as different arguments', async () => {
    await using home = await testHostWithApprovals([
      together(send('é'.normalize('NFC')), send('é'.normalize('NFD'))),
      finish(),
    ])
    await waitForPendingCall(home)
    expect(await pending(home)).toHaveLength(2)
  })

  it('can change the arguments: the new ones run and are shown to the model, and the original ones are kept', async () => {
    await using home = await testHostWithApprovals([send('ann'), finish()])
    const { approval_id } = await waitForPendingCall(home)
    expect(await decide(home, approval_id, { decision: 'approve', arguments: { to: 'eve', n: 2 } })).toMatchObject({
      edited: true,
      arguments: { to: 'eve', n: 2 },
      original_arguments: { to: 'ann' },
    })
    await waitForCompletedGoal(home)
    expect(home.runs).toEqual([{ tool: 'send', args: { to: 'eve', n: 2 } }])
    expect(results(home.server)[0]).toMatch(/operator changed the arguments.*\{"n":2,"to":"eve"\}\n\nsend ran 1/)
    const [row] = await home.kernel.use(Store).all<{ arguments: string }>('SELECT arguments FROM tool_calls')
    expect(JSON.parse(row!.arguments)).toEqual({ to: 'eve', n: 2 })
  })

  it('shows changed arguments to the model also when the call fails', async () => {
    await using home = await testHostWithApprovals([send('ann'), finish()])
    const { approval_id } = await waitForPendingCall(home)
    await decide(home, approval_id, { decision: 'approve', arguments: { to: 'no one' } })
    await waitForCompletedGoal(home)
    expect(results(home.server)[0]).toMatch(/^The operator changed.*"no one"\}\n\nError: there is no one of that name/)
  })

  it('accepts changed arguments only if they fit the tool, and only with an approval', async () => {
    await using home = await testHostWithApprovals([send('ann'), finish()])
    const { approval_id } = await waitForPendingCall(home)
    await expect(decide(home, approval_id, { decision: 'approve', arguments: { to: 5 } })).rejects.toMatchObject({
      status: 422,
      errors: [{ path: 'arguments.to' }],
    })
    await expect(decide(home, approval_id, { decision: 'deny', arguments: {} })).rejects.toMatchObject({ status: 422 })
    expect((await pending(home))[0]).toMatchObject({ arguments: { to: 'ann' }, edited: false })
  })

  it('is denied automatically when its goal ends', async () => {
    await using home = await testHostWithApprovals([send('ann'), finish()])
    const { approval_id, goal_id } = await waitForPendingCall(home)
    await home.kernel.invoke('goals.abandon', { goal_id })
    await until(async () => (await pending(home)).length === 0)
    expect(await show(home, approval_id)).toMatchObject({
      status: 'denied',
      resolved_by: 'system',
      reason: 'its goal has ended',
    })
    expect((await detail(home, home.id)).status).not.toBe('waiting_approval')
    expect(home.runs).toEqual([])
  })

  it('is deleted together with its agent', async () => {
    await using home = await testHostWithApprovals([send('ann'), finish()])
    await waitForPendingCall(home)
    await home.kernel.invoke('agents.delete', { id: home.id })
    expect(await pending(home)).toEqual([])
  })

  it('stays pending over a pause of its agent', async () => {
    await using home = await testHostWithApprovals([send('ann'), finish()])
    const { approval_id } = await waitForPendingCall(home)
    await home.kernel.invoke('agents.pause', { id: home.id })
    expect((await detail(home, home.id)).status).toBe('paused')
    const before = home.server.requests.length
    expect(await home.kernel.invoke('agents.resume', { id: home.id })).toMatchObject({ status: 'waiting_approval' })
    await runHeartbeat(home)
    expect(home.server.requests).toHaveLength(before)
    await decide(home, approval_id, { decision: 'approve' })
    await waitForCompletedGoal(home)
  })

  it('lists long arguments by length and hash, and shows them in full on its own', async () => {
    const payload = `${'x'.repeat(100_000)}; rm -rf /`
    await using home = await testHostWithApprovals([send('ann', { text: payload }), finish()])
    const listed = await waitForPendingCall(home)
    expect(listed).toMatchObject({ arguments: null, args_sha256: expect.stringMatching(/^[0-9a-f]{64}$/) })
    expect(((await home.kernel.invoke('agents.fleet')) as Fleet).agents).toMatchObject([
      { held: expect.stringMatching(/^send waits for your approval: .{120}… 99,9\d\d more characters$/) },
    ])
    expect(listed.args_chars).toBeGreaterThan(100_000)
    expect((await show(home, listed.approval_id)).arguments).toEqual({ to: 'ann', text: payload })
  })
})

describe('the deadline of an approval', () => {
  const config = { approval: { enabled: true, timeout_cycles: 3 } }

  it('denies an undecided call after a number of heartbeats, and the agent continues', async () => {
    await using home = await testHostWithApprovals([send('ann'), finish()], { config })
    const { approval_id, created_at, expires_at } = await waitForPendingCall(home)
    expect(Date.parse(String(expires_at)) - Date.parse(created_at)).toBe(30_000)
    await runHeartbeat(home)
    await runHeartbeat(home)
    expect(await pending(home)).toHaveLength(1)
    await runHeartbeat(home)
    await runHeartbeat(home)
    expect(await show(home, approval_id)).toMatchObject({ status: 'denied', resolved_by: 'system' })
    await until(async () => (await goalsOf(home, home.id))[0]?.status === 'completed')
    expect(home.runs).toEqual([])
  })

  it('also rejects a late decision while no daemon runs', async () => {
    await using home = await testHostWithApprovals([send('ann'), finish()], { config })
    const { approval_id } = await waitForPendingCall(home)
    await home.kernel.heartbeat.stop()
    home.clock.jump(30_000)
    const late = home.kernel.invoke('approvals.decide', { approval_id, decision: 'approve' }, { via: 'cli' })
    await expect(late).rejects.toMatchObject({ code: 'approval_resolved', message: expect.stringMatching(/system/) })
    expect(await show(home, approval_id)).toMatchObject({ status: 'denied', reason: 'no decision came in time' })
  })

  it('follows the wall clock: a jump ahead denies, a jump back never denies early', async () => {
    await using home = await testHostWithApprovals([send('ann'), finish()], { config })
    const { approval_id } = await waitForPendingCall(home)
    home.clock.jump(-2 * 86_400_000)
    for (let n = 0; n < 4; n++) await runHeartbeat(home)
    expect((await show(home, approval_id)).status).toBe('pending')
    home.clock.jump(4 * 86_400_000)
    await runHeartbeat(home)
    expect((await show(home, approval_id)).status).toBe('denied')
  })

  it('uses the heartbeat interval that is current when it is checked', async () => {
    await using home = await testHostWithApprovals([send('ann'), finish()], { config })
    const { approval_id } = await waitForPendingCall(home)
    await home.kernel.config.patch({ daemon: { heartbeat: 3600 } })
    for (let n = 0; n < 2; n++) await runHeartbeat(home)
    await home.clock.advance(60_000)
    expect((await show(home, approval_id)).status).toBe('pending')
  })
})

describe('approval.require_for', () => {
  const warningsOf = async (approval: object) => {
    await using home = await testHostWithApprovals([finish()], { config: { approval } })
    for (const { begin } of home.kernel.list(DaemonStarts)) await begin()
    return home.logged('approval.require_for').map(({ msg }) => msg)
  }

  it('causes a warning at start if it lists unknown tools or approvals are disabled', async () => {
    expect(await warningsOf({ enabled: true, require_for: ['look', 'serd', 'wipe'] })).toEqual([
      'approval.require_for lists "serd", but there is no tool of that name now; did you mean send?',
    ])
    expect(await warningsOf({ require_for: ['look'] })).toEqual([
      'approval.require_for lists tools, but approval.enabled is false, so none of them waits for approval',
    ])
    expect(await warningsOf({ enabled: true })).toEqual([])
  })
})

describe('an approval rule', () => {
  const grant = (home: Awaited<ReturnType<typeof testHostWithApprovals>>, rule: object) =>
    home.kernel.invoke('approvals.grant', { tool_name: 'send', ...rule }) as Promise<{ rule_id: string }>

  it('lets matching calls run without approval up to its number of uses, and is recorded with each', async () => {
    await using home = await testHostWithApprovals([send('ann'), send('drafts/y'), send('drafts/z'), finish()])
    await waitForPendingCall(home)
    const { rule_id } = await grant(home, { arguments: { to: { glob: 'drafts/*' } }, uses: 1, reason: 'only drafts' })
    await decide(home, (await pending(home))[0]!.approval_id, { decision: 'approve' })
    await until(async () => home.runs.length === 2 && (await pending(home)).length === 1)
    expect((await pending(home))[0]?.arguments).toEqual({ to: 'drafts/z' })
    const used = (await history(home, home.id)).find(each => each.resolved_by === `rule:${rule_id}`)
    expect(used).toMatchObject({ status: 'consumed', arguments: { to: 'drafts/y' }, reason: 'only drafts' })
    expect(await home.kernel.invoke('approvals.rules', {})).toEqual([])
    expect(await home.kernel.invoke('approvals.rules', { all: true })).toMatchObject([{ used: 1, active: false }])
  })

  it('approves pending calls that match, up to its number of uses', async () => {
    const calls = together(send('ann'), send('drafts/x'), send('drafts/y'), send('drafts/z'))
    await using home = await testHostWithApprovals([calls, finish()])
    await until(async () => (await pending(home)).length === 4)
    const waiting = async () => (await pending(home)).map(each => (each.arguments as { to: string }).to)
    const drafts = (await waiting()).filter(to => to !== 'ann')
    const { rule_id } = await grant(home, { arguments: { to: { glob: 'drafts/*' } }, uses: 2, reason: 'only drafts' })
    expect((await waiting()).sort()).toEqual(['ann', drafts[2]])
    await grant(home, { uses: 5, agent: home.id })
    await runHeartbeat(home)
    await waitForCompletedGoal(home)
    expect(home.runs).toHaveLength(4)
    const used = (await history(home, home.id)).filter(each => each.resolved_by === `rule:${rule_id}`)
    expect(used).toMatchObject([1, 2].map(() => ({ status: 'consumed', reason: 'only drafts' })))
    expect(await home.kernel.invoke('approvals.rules', { all: true })).toMatchObject([{ used: 2 }, { used: 2 }])
  })

  it.each([
    ['another value', { to: 'bob' }],
    ['an argument that it does not name', { to: 'ann', n: 1 }],
    ['a pattern that does not reach that far', { to: { glob: 'a*' }, text: { any: true } }],
  ])('does not approve %s', async (_, args) => {
    await using home = await testHostWithApprovals([toolCall('look'), send('ann', { n: 2 }), finish()])
    await grant(home, { arguments: args, uses: 5 })
    await waitForPendingCall(home)
    expect(home.runs.map(run => run.tool)).toEqual(['look'])
  })

  it.each([
    ['drafts/**', 'drafts/../keys'],
    ['drafts/**', 'drafts/a/b/../../../keys'],
    ['*/x', '../x'],
    ['https://example.org/docs/**', 'https://example.org/docs/%2E./admin'],
    ['https://example.org/docs/**', 'https://example.org/docs/.\t.\\admin'],
  ])('with the pattern %s does not match a path that leaves it: %s', async (glob, to) => {
    await using home = await testHostWithApprovals([send(to), finish()])
    await grant(home, { arguments: { to: { glob } }, uses: 5 })
    await waitForPendingCall(home)
    expect(home.runs).toEqual([])
  })

  it('allows dots that are no parent step, and parent steps in its own pattern', async () => {
    await using home = await testHostWithApprovals([send('drafts/a..b/...'), send('../shared/x'), finish()])
    for (const glob of ['drafts/**', '../shared/*']) await grant(home, { arguments: { to: { glob } }, uses: 1 })
    await until(async () => home.runs.length === 2)
  })

  const line = (text: string) => toolCall('run', { text })

  it.each([
    ['npm test*', 'npm test; rm -rf data'],
    ['npm test*', 'npm test && rm -rf data'],
    ['npm test*', 'npm test & rm -rf data'],
    ['npm test*', 'npm test || rm -rf data'],
    ['npm test*', 'npm test | sh'],
    ['npm test*', 'npm test\nrm -rf data'],
    ['npm test*', 'npm test\r\nrm -rf data'],
    ['npm test*', 'npm test $(rm -rf data)'],
    ['npm test*', 'npm test "$(rm -rf data)"'],
    ['npm test*', 'npm test `rm -rf data`'],
    ['npm test*', 'npm test > package.json'],
    ['npm test*', 'npm test <(rm -rf data)'],
    ['npm test*', 'npm test "a;b"'],
    ['npm test **', 'npm test a/b; rm -rf data'],
    ['npm test $*', 'npm test $(rm -rf data)'],
    ['npm test "*"', 'npm test ""; rm -rf "data"'],
    ['echo * ";rm data" *', 'echo " ";rm data" "'],
    ['echo * ";rm data" *', 'echo \\ ";rm data" x'],
    ['cd app && npm *', 'cd app && npm test && rm -rf data'],
  ])('with the pattern %j grants no further shell command: %j', async (glob, text) => {
    await using home = await testHostWithApprovals([line(text), finish()])
    await grant(home, { tool_name: 'run', arguments: { text: { glob } }, uses: 5 })
    await waitForPendingCall(home)
    // The same for a call that waits already.
    await grant(home, { tool_name: 'run', arguments: { text: { glob } }, uses: 5 })
    expect([await pending(home), home.runs]).toMatchObject([[{ status: 'pending' }], []])
  })

  it('grants single shell commands, with operators only where its pattern has them', async () => {
    const lines = ['npm test', 'npm test -- "a b" $HOME', 'cd app && npm test', 'a; b', 'ls\n| wc']
    await using home = await testHostWithApprovals([together(...lines.map(line)), finish()])
    await until(async () => (await pending(home)).length === lines.length)
    await waitUntilIdle(home)
    for (const text of [{ glob: 'npm test*' }, { glob: 'cd app && npm *' }, 'a; b', { any: true }])
      await grant(home, { tool_name: 'run', arguments: { text }, uses: 2 })
    expect(await pending(home)).toEqual([])
    await runHeartbeat(home)
    await waitForCompletedGoal(home)
    expect(home.runs.map(({ args }) => (args as { text: string }).text)).toEqual(lines)
  })

  it('takes an argument with its default as left out, which any matches, and says why other calls still wait', async () => {
    const args = [{ text: 'ls' }, { text: 'ls', cwd: '.' }, { text: 'ls', background: true }, { text: 'rmdir' }]
    await using home = await testHostWithApprovals([together(...args.map(each => toolCall('run', each))), finish()])
    await until(async () => (await pending(home)).length === args.length)
    const idOf = new Map((await pending(home)).map(each => [each.args_chars, each.approval_id]))
    const [first, second, third, fourth] = args.map(each => idOf.get(JSON.stringify(each).length))
    const grantRun = (rule: object) => grant(home, { tool_name: 'run', uses: 5, ...rule })
    expect(await grantRun({ arguments: { text: 'ls', cwd: { any: true } } })).toMatchObject({
      approved: expect.arrayContaining([first, second]),
      waiting: expect.arrayContaining([
        { approval_id: third, reason: 'it has background: true, for which the rule has no condition' },
        { approval_id: fourth, reason: 'its text is "rmdir", which does not match' },
      ]),
    })
    expect(await grantRun({ arguments: { text: { any: true } } })).toMatchObject({ approved: [fourth] })
  })

  it('ends at its time or when it is revoked', async () => {
    await using home = await testHostWithApprovals([finish()])
    const until = (ms: number) => new Date(home.clock.ms() + ms).toISOString()
    await grant(home, { until: until(60_000) })
    const second = await grant(home, { until: until(600_000), agent: home.id })
    await home.clock.advance(61_000)
    expect(await home.kernel.invoke('approvals.rules', {})).toMatchObject([{ rule_id: second.rule_id }])
    await home.kernel.invoke('approvals.revoke', { rule_id: second.rule_id }, { via: 'cli' })
    expect(await home.kernel.invoke('approvals.rules', {})).toEqual([])
    expect(await home.kernel.invoke('approvals.rule', { rule_id: second.rule_id })).toMatchObject({ revoked_by: 'cli' })
    await expect(home.kernel.invoke('approvals.revoke', { rule_id: second.rule_id })).rejects.toMatchObject({
      status: 404,
    })
  })

  it('must have an end time or a number of uses', async () => {
    await using home = await testHostWithApprovals([finish()])
    await expect(grant(home, {})).rejects.toMatchObject({ code: 'endless_rule' })
    await expect(grant(home, { until: '2020-01-01T00:00:00Z' })).rejects.toMatchObject({ code: 'endless_rule' })
    await expect(grant(home, { uses: 1, arguments: { to: { glob: 5 } } })).rejects.toMatchObject({ status: 422 })
  })
})

describe("a plugin's reviewer", () => {
  const reviewer = (name: string, answer: (args: Record<string, unknown>) => Review | undefined, stage = 0) =>
    definePlugin({
      name,
      setup: svc =>
        void svc.add(ApprovalReviewers, {
          name,
          stage,
          review: ({ arguments: args }) => answer(args as Record<string, unknown>),
        }),
    })

  it('can approve or deny in place of the operator, and is recorded by name', async () => {
    const strict = reviewer('strict', ({ to }) =>
      to === 'ann' ? { decision: 'approve' } : { decision: 'deny', reason: 'only Ann' },
    )
    await using home = await testHostWithApprovals([send('ann'), send('bob'), finish()], { builtins: [strict] })
    await waitForCompletedGoal(home)
    expect(home.runs).toEqual([{ tool: 'send', args: { to: 'ann' } }])
    expect(results(home.server)[1]).toContain('only Ann')
    expect((await history(home, home.id)).map(each => `${each.status} by ${each.resolved_by}`).sort()).toEqual([
      'consumed by reviewer:strict',
      'denied by reviewer:strict',
    ])
  })

  it('can change the arguments before the decision; the next reviewer sees the change', async () => {
    const seen: unknown[] = []
    const edits = reviewer('edits', args => ({ decision: 'edit', arguments: { ...args, n: 9 } }), -1)
    const looks = reviewer('looks', args => void seen.push(args))
    await using home = await testHostWithApprovals([send('ann'), finish()], { builtins: [looks, edits] })
    const asked = await waitForPendingCall(home)
    expect(asked).toMatchObject({ arguments: { to: 'ann', n: 9 }, edited: true })
    expect(seen).toEqual([{ to: 'ann', n: 9 }])
    await decide(home, asked.approval_id, { decision: 'approve' })
    await waitForCompletedGoal(home)
    expect(home.runs).toEqual([{ tool: 'send', args: { to: 'ann', n: 9 } }])
  })

  it('sees the arguments that the tool receives, with their defaults', async () => {
    const here = reviewer('here', ({ cwd }) => (cwd === '.' ? { decision: 'approve' } : undefined))
    await using home = await testHostWithApprovals([toolCall('run', { text: 'ls' }), finish()], { builtins: [here] })
    await waitForCompletedGoal(home)
    expect(home.runs).toEqual([{ tool: 'run', args: { text: 'ls', cwd: '.', background: false } }])
  })

  it('is ignored if it throws or returns an invalid decision or invalid arguments', async () => {
    const bad = [
      reviewer('throws', () => {
        throw new Error('no idea')
      }),
      reviewer('odd', () => ({ decision: 'yes' }) as never),
      reviewer('wrong', () => ({ decision: 'edit', arguments: { to: 5 } })),
    ]
    await using home = await testHostWithApprovals([send('ann'), finish()], { builtins: bad })
    expect(await waitForPendingCall(home)).toMatchObject({ arguments: { to: 'ann' }, edited: false })
  })
})

describe('a crash during a gated call', () => {
  it('leaves its outcome unknown; an idempotent call needs a new approval to run again', async () => {
    await using home = await testHostWithApprovals([together(send('ann'), toolCall('again')), finish()])
    await waitForPendingCall(home)
    await home.kernel.invoke('agents.pause', { id: home.id })
    for (const { approval_id } of await pending(home)) await decide(home, approval_id, { decision: 'approve' })
    // The state after a kill between the use of the approval and the outcome.
    await writeDirectly(
      home.root,
      "UPDATE approvals SET status = 'consumed', used_by = (SELECT call_id FROM tool_calls t WHERE t.approval_id = approvals.approval_id)",
    )
    await writeDirectly(home.root, "UPDATE tool_calls SET state = 'started'")
    await home.kernel.invoke('agents.resume', { id: home.id })
    await home.clock.advance(1_000)
    const asked = await waitForPendingCall(home)
    expect(asked.tool_name).toBe('again')
    expect(home.runs).toEqual([])
    await decide(home, asked.approval_id, { decision: 'approve' })
    await waitForCompletedGoal(home)
    expect(home.runs.map(run => run.tool)).toEqual(['again'])
    expect(results(home.server)).toEqual([expect.stringContaining('unknown'), 'again ran 1'])
  })
})
