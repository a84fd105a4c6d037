import { expect, it } from 'vitest'
import { definePlugin, z } from '#kernel'
import { keyedRandom } from '#lib/keyed-random'
import { defineEffect, Effects, Store } from '#platform/store/contract'
import { type ApprovalSummary, Approvals } from '#safety/approvals/contract'
import approvals from '#safety/approvals/index'
import { tool } from '#tools/toolkits/contract'
import { spawn, testHostWithModel } from '../spec/core/models/model-host.ts'
import { text } from '../support/index.ts'
import { trialCount } from '../support/vitest/trial-count.ts'

const TRIALS = trialCount(1_000, 100)

/** Writes what a pursuit writes before a gated call: its intent, in the journal. */
const plan = defineEffect({
  name: 'test.plan',
  schema: z.object({ call_id: z.string(), agent_id: z.string(), args: z.string() }),
  statements: ({ call_id, agent_id, args }, now) => [
    {
      sql: `INSERT INTO tool_calls (call_id, model_call_id, agent_id, epoch, step, tool, arguments, args_hash, state, started_at)
            VALUES (?, ?, ?, 1, 1, 'send', ?, '', 'planned', ?)`,
      params: [call_id, call_id, agent_id, args, now],
    },
  ],
})
const journal = definePlugin({ name: 'journal', setup: svc => void svc.add(Effects, plan.kind) })

const send = tool({
  name: 'send',
  description: 'Sends.',
  requires_approval: true,
  parameters: z.object({ trial: z.number() }),
  execute: () => 'sent',
})

it(`one of 2 to 50 simultaneous decisions and deadlines wins, and at most one caller runs: ${TRIALS} times`, async () => {
  const config = { approval: { enabled: true, timeout_cycles: 1 } }
  await using home = await testHostWithModel(() => text(''), { config, builtins: [approvals, journal] })
  const random = keyedRandom(home.seed)
  const { kernel } = home
  const agent_id = await spawn(home)
  const store = kernel.use(Store)
  let approved = 0
  let timed = 0
  for (let trial = 0; trial < TRIALS; trial++) {
    const randomBelow = (what: string, below: number) => Math.floor(random.number('races', trial, what) * below)
    // Identical calls share the request: one call, or several that wait for the same decision.
    const calls = Array.from({ length: 1 + randomBelow('calls', 3) }, (_, n) => `call-${trial}-${n}`)
    const args = { trial }
    await store.apply(calls.map(call_id => plan({ call_id, agent_id, args: JSON.stringify(args) })))
    const gate = (call_id: string) =>
      kernel
        .use(Approvals)
        .gate({ call_id, agent_id, goal_id: null, session_id: null, task_id: null, tool: send, arguments: args })
    const parked = await Promise.all(calls.map(gate))
    const [first] = parked
    if (first?.verdict !== 'park') throw new Error(`trial ${trial}: the call was not asked about`)
    expect(new Set(parked.map(verdict => JSON.stringify(verdict))).size, `trial ${trial}`).toBe(1)
    const { approval_id } = first
    const racers = 2 + randomBelow('racers', 49)
    const late = random.number('races', trial, 'late') < 0.3
    if (late) home.clock.jump(10_000)
    const decisions = Array.from({ length: racers }, (_, n) =>
      kernel
        .invoke(
          'approvals.decide',
          { approval_id, decision: randomBelow(`decision ${n}`, 2) === 0 ? 'approve' : 'deny' },
          n % 2 ? { via: 'cli' } : { via: 'rest', tenant: `user-${n}` },
        )
        .then(
          () => 'won',
          (error: { status: number }) => error.status,
        ),
    )
    // The tick that denies overdue requests, and callers that do not wait for the decision.
    const tick = late ? kernel.hooks.emit('beat', { beat: trial }) : undefined
    const early = Array.from({ length: 4 }, (_, n) => gate(calls[n % calls.length]!))
    const outcomes = await Promise.all(decisions)
    await tick
    const after = await Promise.all(Array.from({ length: 4 }, (_, n) => gate(calls[n % calls.length]!)))
    const verdicts = [...(await Promise.all(early)), ...after]
    const [row] = await store.all<{ status: string; resolved_by: string; used_by: string | null }>(
      'SELECT status, resolved_by, used_by FROM approvals WHERE approval_id = ?',
      [approval_id],
    )
    const winners = outcomes.filter(outcome => outcome === 'won').length + (row?.resolved_by === 'system' ? 1 : 0)
    expect(winners, `trial ${trial}`).toBe(1)
    expect(
      outcomes.filter(outcome => outcome !== 'won').every(outcome => outcome === 409),
      `trial ${trial}`,
    ).toBe(true)
    const runs = verdicts.filter(({ verdict }) => verdict === 'run').length
    expect(runs, `trial ${trial}`).toBe(row?.status === 'consumed' ? 1 : 0)
    if (runs > 0) approved++
    if (row?.resolved_by === 'system') timed++
    // Denies the new requests of callers that came too late.
    for (const each of (await kernel.invoke('approvals.queue')) as ApprovalSummary[]) {
      await kernel.invoke('approvals.decide', { approval_id: each.approval_id, decision: 'deny' })
    }
  }
  console.log(`${TRIALS} trials (seed ${home.seed}): ${approved} ran, ${timed} were denied by the deadline`)
  expect(approved).toBeGreaterThan(TRIALS / 10)
  expect(timed).toBeGreaterThan(0)
}, 120_000)
