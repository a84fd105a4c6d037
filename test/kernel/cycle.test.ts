import { expect, it } from 'vitest'
import { definePlugin, type PluginHandle, token } from '#kernel'
import { type Cycle, type CycleResult, PHASES, type Phase } from '#platform/heartbeat/contract'
import { memoryScheduler, runHeartbeat, testHost, until, waitUntilIdle } from '../support/index.ts'

type Work = (cycle: Cycle, svc: PluginHandle) => unknown

/** Starts a test host with one agent whose phases run the given work; `calls` are the lifecycle events, in order. */
async function agentWith(work: Partial<Record<Phase, Work>>, config: Record<string, unknown> = {}) {
  const leases = memoryScheduler(['ada'])
  const calls: string[] = []
  const worker = definePlugin({
    name: 'worker',
    setup(svc) {
      for (const phase of PHASES) {
        const does = work[phase]
        if (does) svc.tap(phase, 'work', cycle => does(cycle, svc))
      }
      svc.on('cycle_start', ({ cycle_num }) => void calls.push(`start ${cycle_num}`))
      svc.on('phase_enter', ({ phase }) => void calls.push(`> ${phase}`))
      svc.on('phase_exit', ({ phase, outcome }) => void calls.push(`< ${phase} ${outcome}`))
      svc.on('cycle_end', ({ result }) => void calls.push(`end ${result}`))
    },
  })
  const home = await testHost({ builtins: [worker, leases.plugin], config: { daemon: config } })
  return { home, leases, calls, [Symbol.asyncDispose]: () => home.close() }
}

const pursue: Work = cycle => {
  cycle.pursuing = true
}
const setResult =
  (result: CycleResult): Work =>
  cycle => {
    cycle.result = result
  }

it('an idle agent generates a goal: the phases run in order, each with an enter and an exit event', async () => {
  await using ada = await agentWith({ goal_generation: setResult('generated') })
  await waitUntilIdle(ada.home)
  const phases = ['approval_gate', 'suffering_escalation', 'context_assembly', 'goal_generation', 'cleanup']
  const steps = phases.flatMap(phase => [`> ${phase}`, `< ${phase} ok`])
  expect(ada.calls).toEqual(['start 1', ...steps, 'end generated'])
})

it('an agent with a goal pursues it instead of generating one', async () => {
  await using ada = await agentWith({ context_assembly: pursue, goal_pursuit: setResult('completed') })
  await waitUntilIdle(ada.home)
  expect(ada.calls).toContain('> goal_pursuit')
  expect(ada.calls).not.toContain('> goal_generation')
  expect(ada.calls.at(-1)).toBe('end completed')
})

it.each(['completed', 'abandoned', 'max_steps', 'parked'] as const)('a pursuit may end as %s', async result => {
  await using ada = await agentWith({ context_assembly: pursue, goal_pursuit: setResult(result) })
  await waitUntilIdle(ada.home)
  expect(ada.calls.at(-1)).toBe(`end ${result}`)
})

it('a cycle in which nothing happened ends as idle, and the next one starts a heartbeat later', async () => {
  await using ada = await agentWith({})
  await waitUntilIdle(ada.home)
  expect(ada.calls.at(-1)).toBe('end idle')
  expect(ada.leases.commits).toMatchObject([{ next: { run_at: ada.home.clock.ms() + 10_000 } }])
  await runHeartbeat(ada.home)
  expect(ada.calls.filter(line => line.startsWith('start'))).toEqual(['start 1', 'start 2'])
})

it('a phase that sets the cycle as done skips to cleanup', async () => {
  await using ada = await agentWith({
    approval_gate(cycle) {
      cycle.result = 'parked'
      cycle.done = true
    },
  })
  await waitUntilIdle(ada.home)
  const steps = ['> approval_gate', '< approval_gate ok', '> cleanup', '< cleanup ok']
  expect(ada.calls).toEqual(['start 1', ...steps, 'end parked'])
})

it('a phase that throws ends the cycle as an error; cleanup runs, and the agent runs at its next heartbeat', async () => {
  let cycles = 0
  await using ada = await agentWith({
    context_assembly() {
      if (++cycles === 1) throw new Error('lost my notes')
    },
  })
  await waitUntilIdle(ada.home)
  expect(ada.calls.slice(-5)).toEqual([
    '> context_assembly',
    '< context_assembly error',
    '> cleanup',
    '< cleanup ok',
    'end error',
  ])
  expect(ada.home.logged('context_assembly: lost my notes')).toMatchObject([{ agent_id: 'ada', cycle_num: 1 }])
  await runHeartbeat(ada.home)
  expect(ada.calls.at(-1)).toBe('end idle')
})

it('a cycle that exceeds its timeout is aborted, ends as a timeout, and cleans up', async () => {
  let reason: unknown
  await using ada = await agentWith(
    {
      context_assembly: pursue,
      async goal_pursuit({ signal }, svc) {
        await svc.clock.sleep(1e9, signal)
        reason = signal.reason
        signal.throwIfAborted()
      },
    },
    { cycle_timeout: 30 },
  )
  await until(() => ada.calls.includes('> goal_pursuit'))
  await ada.home.clock.advance(29_999)
  expect(ada.calls.at(-1)).toBe('> goal_pursuit')
  await ada.home.clock.advance(1)
  await until(() => ada.calls.includes('end timeout'))
  expect(reason).toMatchObject({ code: 'cycle_timeout' })
  expect(ada.calls.slice(7, 11)).toEqual(['> goal_pursuit', '< goal_pursuit timeout', '> cleanup', '< cleanup ok'])
  expect(ada.calls[11]).toBe('end timeout')
})

it('time for which a cycle pauses its timeout does not count', async () => {
  await using ada = await agentWith(
    {
      context_assembly: pursue,
      async goal_pursuit({ signal }, svc) {
        const resume = [svc.heartbeat.pauseTimeout(signal), svc.heartbeat.pauseTimeout(signal)]
        await svc.clock.sleep(60_000)
        resume.pop()!()
        await svc.clock.sleep(60_000)
        resume.pop()!()
        await svc.clock.sleep(1e9, signal)
        signal.throwIfAborted()
      },
    },
    { cycle_timeout: 30 },
  )
  await until(() => ada.calls.includes('> goal_pursuit'))
  await ada.home.clock.advance(60_000)
  await ada.home.clock.advance(60_000)
  await ada.home.clock.advance(29_999)
  expect(ada.calls.at(-1)).toBe('> goal_pursuit')
  await ada.home.clock.advance(1)
  await until(() => ada.calls.includes('end timeout'))
})

it('a cycle timeout of 0 means no timeout', async () => {
  let signal: AbortSignal | undefined
  await using ada = await agentWith(
    {
      context_assembly: pursue,
      async goal_pursuit(cycle, svc) {
        signal = cycle.signal
        await svc.clock.sleep(3_600_000)
      },
    },
    { cycle_timeout: 0 },
  )
  await until(() => signal)
  await ada.home.clock.advance(3_600_000)
  await until(() => ada.calls.includes('end idle'))
  expect(signal?.aborted).toBe(false)
})

it("phase_exit carries the phase's duration, unaffected by changes of the wall clock", async () => {
  await using ada = await agentWith({
    async context_assembly(_, svc) {
      await svc.clock.sleep(1500)
      ada.home.clock.jump(-3_600_000)
    },
  })
  const left = until(ada.home, 'phase_exit', ({ phase }) => phase === 'context_assembly')
  await until(() => ada.calls.includes('> context_assembly'))
  await ada.home.clock.advance(1500)
  await expect(left).resolves.toMatchObject({ agent_id: 'ada', cycle_num: 1, duration_ms: 1500 })
})

it('the writes of all phases are committed together and in order, before cycle_end is emitted', async () => {
  const note = (text: string): Work => {
    return cycle => cycle.effects.push({ effect: 'note', payload: text })
  }
  await using ada = await agentWith({
    context_assembly: note('first'),
    goal_generation: note('second'),
    cleanup: note('third'),
  })
  let written = -1
  ada.home.kernel.hooks.on('cycle_end', () => {
    written = ada.leases.commits.length
  })
  await waitUntilIdle(ada.home)
  await runHeartbeat(ada.home)
  expect(ada.leases.commits.map(commit => commit.effects.map(({ payload }) => payload))).toEqual([
    ['first', 'second', 'third'],
    ['first', 'second', 'third'],
  ])
  expect(written).toBe(2)
})

it('a cycle may set when its agent runs next', async () => {
  await using ada = await agentWith({
    cleanup(cycle, svc) {
      cycle.run_at = svc.clock.ms() + 60_000
    },
  })
  await waitUntilIdle(ada.home)
  for (let beats = 5; beats > 0; beats--) await runHeartbeat(ada.home)
  expect(ada.leases.commits).toHaveLength(1)
  await runHeartbeat(ada.home)
  expect(ada.leases.commits).toHaveLength(2)
})

it('a write in the middle of a cycle is durable at once and keeps the lease', async () => {
  const results: unknown[] = []
  await using ada = await agentWith({
    context_assembly: async cycle => results.push(await cycle.save([{ effect: 'note', payload: 'now' }])),
  })
  await waitUntilIdle(ada.home)
  expect(results).toEqual(['ok'])
  expect(ada.leases.commits).toMatchObject([
    { effects: [{ payload: 'now' }], next: 'keep' },
    { effects: [], next: { run_at: expect.any(Number) } },
  ])
})

it('a cycle whose agent was taken over by another process writes nothing more and runs no cleanup', async () => {
  await using ada = await agentWith({
    async context_assembly(cycle) {
      ada.leases.takeOver('ada')
      await cycle.save([{ effect: 'note', payload: 'too late' }])
    },
  })
  await until(() => ada.calls.includes('end fenced'))
  expect(ada.calls).not.toContain('> cleanup')
  expect(ada.leases.commits.map(({ result }) => result)).toEqual(['fenced'])
})

it('a cycle whose agent is taken over during cleanup is fenced too', async () => {
  await using ada = await agentWith({
    cleanup: () => ada.leases.takeOver('ada'),
    goal_generation: setResult('generated'),
  })
  await until(() => ada.calls.includes('end fenced'))
  expect(ada.leases.commits).toMatchObject([{ result: 'fenced' }])
})

it('phases share values through typed tokens, within one cycle only', async () => {
  const Draft = token<string>('draft')
  const seen: unknown[] = []
  await using ada = await agentWith({
    approval_gate: cycle => seen.push(cycle.get(Draft)),
    context_assembly: cycle => cycle.set(Draft, `of cycle ${cycle.cycle_num}`),
    goal_generation: cycle => seen.push(cycle.get(Draft)),
  })
  await waitUntilIdle(ada.home)
  await runHeartbeat(ada.home)
  expect(seen).toEqual([undefined, 'of cycle 1', undefined, 'of cycle 2'])
})

it('several plugins may tap one phase, and run in the order of their stages', async () => {
  const order: string[] = []
  const leases = memoryScheduler(['ada'])
  const late = definePlugin({
    name: 'late',
    setup: svc => void svc.hooks.context_assembly?.tap({ name: 'late', stage: 5 }, () => order.push('late')),
  })
  const early = definePlugin({
    name: 'early',
    setup: svc => void svc.hooks.context_assembly?.tapPromise('early', async () => order.push('early')),
  })
  await using home = await testHost({ builtins: [late, early, leases.plugin] })
  await waitUntilIdle(home)
  expect(order).toEqual(['early', 'late'])
})
