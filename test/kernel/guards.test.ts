import { expect, it } from 'vitest'
import { definePlugin, HANDLER_LIMIT_MS, type PluginDefinition } from '#kernel'
import type { Gate, Guard, GuardOptions, Phase } from '#platform/heartbeat/contract'
import { memoryScheduler, runHeartbeat, testHost, until, waitUntilIdle } from '../support/index.ts'

const guarding = (
  phase: Phase | '*',
  shouldProceed: Guard['shouldProceed'],
  options?: GuardOptions,
): PluginDefinition =>
  definePlugin({ name: 'guarding', setup: svc => void svc.guard(phase, { shouldProceed }, options) })

/** Starts a test host with one agent and this guard, as a builtin or as a plugin of an author. */
async function testHostWithGuard(guard: PluginDefinition, { asBuiltin = false, config = {} } = {}) {
  const leases = memoryScheduler()
  const calls: string[] = []
  const trace = definePlugin({
    name: 'trace',
    setup(svc) {
      svc.on('phase_enter', ({ phase }) => void calls.push(phase))
      svc.on('cycle_end', ({ result }) => void calls.push(result))
      svc.on('guard_failed', ({ guard: name, phase, error }) => void calls.push(`${name} failed at ${phase}: ${error}`))
    },
  })
  const builtins = [trace, leases.plugin, ...(asBuiltin ? [guard] : [])]
  const home = await testHost({ builtins, config: { daemon: config } })
  if (!asBuiltin) await home.kernel.host.add(guard)
  leases.add('ada')
  return { home, calls, [Symbol.asyncDispose]: () => home.close() }
}

const ALL = ['approval_gate', 'suffering_escalation', 'context_assembly', 'goal_generation', 'cleanup']
const WITHOUT_GENERATION = ALL.filter(phase => phase !== 'goal_generation')

it('a guard that allows a phase changes nothing, and gets the phase and the agent', async () => {
  const gates: Gate[] = []
  await using ada = await testHostWithGuard(guarding('goal_generation', gate => gates.push(gate) > 0))
  await waitUntilIdle(ada.home)
  expect(ada.calls).toEqual([...ALL, 'idle'])
  expect(gates).toEqual([{ phase: 'goal_generation', agent_id: 'ada', cycle_num: 1, at: ada.home.clock.now() }])
})

it('a veto skips its phase; the cycle ends as guarded and still cleans up', async () => {
  await using ada = await testHostWithGuard(guarding('goal_generation', async () => false))
  await waitUntilIdle(ada.home)
  expect(ada.calls).toEqual([...WITHOUT_GENERATION, 'guarded'])
})

it('a veto on every phase keeps all phases from running', async () => {
  await using ada = await testHostWithGuard(guarding('*', () => false))
  await waitUntilIdle(ada.home)
  expect(ada.calls).toEqual(['guarded'])
})

it('one veto among several guards is enough, and later guards are not asked', async () => {
  const asked: string[] = []
  const many = definePlugin({
    name: 'many',
    setup(svc) {
      const guard = (name: string, verdict: boolean) =>
        svc.guard('goal_generation', { name, shouldProceed: () => asked.push(name) > 0 && verdict })
      guard('first', true)
      guard('second', false)
      guard('third', true)
    },
  })
  await using ada = await testHostWithGuard(many)
  await waitUntilIdle(ada.home)
  expect(asked).toEqual(['first', 'second'])
  expect(ada.calls.at(-1)).toBe('guarded')
})

const failures: [string, Guard['shouldProceed'], RegExp][] = [
  ['throws', () => raise('no idea'), /no idea/],
  ['rejects', async () => raise('no idea'), /no idea/],
  ['answers no boolean', () => 'yes' as never, /returned string, not a boolean/],
  ['answers nothing', async () => undefined as never, /returned undefined, not a boolean/],
]

it.each(failures)("a plugin's guard that %s lets the phase run and is named in the log", async (_, guard, reason) => {
  await using ada = await testHostWithGuard(guarding('goal_generation', guard))
  await waitUntilIdle(ada.home)
  expect(ada.calls).toEqual([...ALL, 'idle'])
  const [line] = ada.home.log.filter(({ level }) => level === 50)
  expect(line).toMatchObject({ plugin: 'guarding', agent_id: 'ada', cycle_num: 1 })
  expect(line?.msg).toMatch(/^guard "guarding" failed in phase goal_generation: /)
  expect(line?.msg).toMatch(reason)
})

it.each(failures)(
  "a plugin's guard that %s counts as failed, and the plugin is suspended after five failures",
  async (_, guard) => {
    await using ada = await testHostWithGuard(guarding('goal_generation', guard))
    const pluginState = () => ada.home.kernel.host.list().find(({ name }) => name === 'guarding')
    for (let n = 1; n < 5; n++) await runHeartbeat(ada.home)
    expect(pluginState()).toMatchObject({ state: 'suspended', failures: 5 })
  },
)

it.each(failures)('a fail-closed guard that %s blocks the phase and emits guard_failed', async (_, guard, reason) => {
  await using ada = await testHostWithGuard(guarding('goal_generation', guard, { failClosed: true }))
  await waitUntilIdle(ada.home)
  expect(ada.calls.filter(line => !line.startsWith('guarding'))).toEqual([...WITHOUT_GENERATION, 'guarded'])
  const failed = ada.calls.filter(line => line.startsWith('guarding failed at goal_generation'))
  expect(failed).toEqual([expect.stringMatching(reason)])
})

it.each([
  [true, 'guarded'],
  [false, 'idle'],
])('a failing guard of a builtin follows daemon.guards_fail_closed: %s', async (guards_fail_closed, result) => {
  const failing = guarding('goal_generation', () => raise('no idea'))
  await using ada = await testHostWithGuard(failing, { asBuiltin: true, config: { guards_fail_closed } })
  await waitUntilIdle(ada.home)
  expect(ada.calls.at(-1)).toBe(result)
})

it.each([
  [true, 'guarded'],
  [false, 'idle'],
])('a guard that never answers fails after its time limit; fail-closed: %s', async (failClosed, result) => {
  await using ada = await testHostWithGuard(guarding('goal_generation', () => new Promise(() => {}), { failClosed }))
  await until(() => ada.calls.includes('context_assembly'))
  await ada.home.clock.advance(HANDLER_LIMIT_MS)
  await until(() => ada.calls.includes(result))
  expect(ada.home.logged('did not finish within 10 s')).toHaveLength(1)
})

it('a guard is removed together with its plugin', async () => {
  await using ada = await testHostWithGuard(guarding('*', () => false))
  await waitUntilIdle(ada.home)
  await ada.home.kernel.host.remove('guarding')
  await runHeartbeat(ada.home)
  expect(ada.calls).toEqual(['guarded', ...ALL, 'idle'])
})

it('svc.hooks.registerGuard is another name for svc.guard', async () => {
  const other = definePlugin({
    name: 'other',
    setup: svc => svc.hooks.registerGuard('goal_generation', { shouldProceed: () => false }),
  })
  await using ada = await testHostWithGuard(other)
  await waitUntilIdle(ada.home)
  expect(ada.calls.at(-1)).toBe('guarded')
})

function raise(message: string): never {
  throw new Error(message)
}
