import { expect, it } from 'vitest'
import { definePlugin, HANDLER_LIMIT_MS, Hook, UnknownHookError, z } from '#kernel'
import { heldClock, testHost, turnEventLoop } from '../support/index.ts'

it('taps run by stage, then in the order in which they were added, unless one asks to run before another', async () => {
  const hook = new Hook<string[]>('order', { kind: 'series' })
  hook.tap('first', seen => void seen.push('first'))
  hook.tap({ name: 'late', stage: 10 }, seen => void seen.push('late'))
  hook.tap({ name: 'early', stage: -10 }, seen => void seen.push('early'))
  hook.tap({ name: 'guest', before: 'first' }, seen => void seen.push('guest'))
  hook.tap('second', seen => void seen.push('second'))
  const seen: string[] = []
  await hook.call(seen)
  expect(seen).toEqual(['early', 'guest', 'first', 'second', 'late'])
})

it('an async tap is awaited before the next one runs', async () => {
  const hook = new Hook<string[]>('series', { kind: 'series' })
  hook.tap('slow', async seen => {
    await turnEventLoop()
    seen.push('slow')
  })
  hook.tap('quick', seen => void seen.push('quick'))
  const seen: string[] = []
  await hook.call(seen)
  expect(seen).toEqual(['slow', 'quick'])
})

it('a bail hook stops at the first answer', async () => {
  const hook = new Hook<number, string>('question', { kind: 'bail' })
  const asked: string[] = []
  hook.tap('undecided', () => void asked.push('undecided'))
  hook.tap('decided', async n => {
    asked.push('decided')
    return `it is ${n}`
  })
  hook.tap('never', () => {
    asked.push('never')
    return 'no'
  })
  await expect(hook.call(7)).resolves.toBe('it is 7')
  expect(asked).toEqual(['undecided', 'decided'])
})

it('a removed tap is not called again, and an added one is called from the next call on', async () => {
  const hook = new Hook<string[]>('changing', { kind: 'series' })
  const leaver = hook.tap('leaver', seen => void seen.push('leaver'))
  hook.tap('changer', seen => {
    seen.push('changer')
    void leaver()
    hook.tap('newcomer', more => void more.push('newcomer'))
  })
  hook.tap('last', seen => void seen.push('last'))
  const [first, second]: [string[], string[]] = [[], []]
  await hook.call(first)
  await hook.call(second)
  expect(first).toEqual(['leaver', 'changer', 'last'])
  expect(second).toEqual(['changer', 'last', 'newcomer'])
})

it('a tap that is removed during a call still runs in that call', async () => {
  const hook = new Hook<string[]>('in flight', { kind: 'series' })
  let leave = () => {}
  hook.tap('remover', () => leave())
  leave = hook.tap('removed', seen => void seen.push('removed')) as () => void
  const [first, second]: [string[], string[]] = [[], []]
  await hook.call(first)
  await hook.call(second)
  expect([first, second]).toEqual([['removed'], []])
})

it('sync and async handlers are called once each, however often they were added, and not after off', async () => {
  await using home = await testHost()
  const { hooks } = home.kernel
  const seen: string[] = []
  const sync = ({ agent_id }: { agent_id: string }) => void seen.push(`sync ${agent_id}`)
  const later = async ({ agent_id }: { agent_id: string }) => {
    await turnEventLoop()
    seen.push(`async ${agent_id}`)
  }
  hooks.on('goal_completed', sync)
  hooks.on('goal_completed', sync)
  const off = hooks.on('goal_completed', later)
  await hooks.emit('goal_completed', { agent_id: 'ada', goal_id: 'g1' })
  expect(seen).toEqual(['sync ada', 'async ada'])
  hooks.off('goal_completed', sync)
  await off()
  await hooks.emit('goal_completed', { agent_id: 'bob', goal_id: 'g2' })
  expect(seen).toEqual(['sync ada', 'async ada'])
})

it('a handler that throws or rejects does not stop the others and is logged with its plugin and stack', async () => {
  const seen: string[] = []
  const thrower = definePlugin({
    name: 'thrower',
    setup(svc) {
      svc.on('goal_completed', () => {
        throw new Error('sync trouble')
      })
      svc.on('goal_completed', async () => {
        await turnEventLoop()
        throw new Error('async trouble')
      })
    },
  })
  const listener = definePlugin({
    name: 'listener',
    setup: svc => svc.on('goal_completed', ({ goal_id }) => void seen.push(goal_id)),
  })
  await using home = await testHost({ builtins: [thrower, listener] })
  await home.kernel.hooks.emit('goal_completed', { agent_id: 'ada', goal_id: 'g1' })
  expect(seen).toEqual(['g1'])
  const stack = expect.stringContaining('hooks.test.ts:')
  expect(home.logged('sync trouble')).toMatchObject([
    { plugin: 'thrower', level: 50, stack },
    { plugin: 'thrower', stack },
  ])
})

it('a handler that hangs is cut off at its time limit, also for an event of a plugin', async () => {
  const seen: string[] = []
  const hanger = definePlugin({
    name: 'hanger',
    setup(svc) {
      svc.event('fair_opened', z.object({ at: z.string() }))
      svc.hooks.goal_completed.tap('for-ever', () => new Promise(() => {}))
      svc.tap('fair_opened', 'for-ever', () => new Promise(() => {}))
      svc.on('goal_completed', ({ goal_id }) => void seen.push(goal_id))
    },
  })
  await using home = await testHost({ builtins: [hanger] })
  for (const event of ['goal_completed', 'fair_opened']) {
    let ended = false
    const emitted = home.kernel.hooks.get(event).call({ agent_id: 'ada', goal_id: event, at: 'noon' })
    void Promise.resolve(emitted).then(() => {
      ended = true
    })
    await home.clock.advance(HANDLER_LIMIT_MS - 1)
    expect(ended).toBe(false)
    await home.clock.advance(1)
    await emitted
  }
  expect(seen).toEqual(['goal_completed'])
  expect(home.logged('did not finish within 10 s')).toMatchObject([
    { plugin: 'hanger/for-ever' },
    { plugin: 'hanger/for-ever' },
  ])
})

it('an unknown hook is refused with the closest match', async () => {
  const typo = definePlugin({ name: 'typo', setup: svc => svc.on('goal_complete' as 'goal_completed', () => {}) })
  await using home = await testHost()
  await expect(home.kernel.host.add(typo)).rejects.toBeInstanceOf(UnknownHookError)
  await expect(home.kernel.host.add(typo)).rejects.toThrow(
    /There is no hook "goal_complete"; did you mean "goal_completed"/,
  )
})

it("a plugin's own event reaches other plugins, and is unknown again once the plugin is removed", async () => {
  const fair = definePlugin({ name: 'fair', setup: svc => void svc.event('fair_opened', z.object({ at: z.string() })) })
  const seen: unknown[] = []
  const visitor = definePlugin({
    name: 'visitor',
    setup: svc => void svc.tap('fair_opened', 'visitor', payload => seen.push(payload)),
  })
  await using home = await testHost({ builtins: [visitor, fair] })
  const { hooks, host } = home.kernel
  await hooks.get('fair_opened').call({ at: 'noon' })
  expect(seen).toEqual([{ at: 'noon' }])
  expect([...hooks.events().keys()]).toContain('fair_opened')
  await host.remove('visitor')
  await host.remove('fair')
  expect(() => hooks.get('fair_opened')).toThrow(UnknownHookError)
})

it('svc.hooks names all phases, events and points of the kernel', async () => {
  let names: string[] = []
  const looker = definePlugin({
    name: 'looker',
    setup(svc) {
      names = Object.keys(svc.hooks)
    },
  })
  await using home = await testHost({ builtins: [looker] })
  expect(names).toEqual(expect.arrayContaining(['cycle_start', 'goal_pursuit', 'guards', 'wake_sources', 'toolkits']))
  expect(names).toEqual(expect.arrayContaining(home.kernel.hooks.names()))
})

it('a plugin may remove its taps and handlers before its scope closes', async () => {
  const clock = heldClock()
  const seen: string[] = []
  let undo: () => unknown = () => {}
  const handler = () => void seen.push('on')
  let stop = () => {}
  const tapper = definePlugin({
    name: 'tapper',
    setup(svc) {
      undo = svc.tap('beat', 'tapper', () => void seen.push('tap'))
      svc.on('beat', handler)
      stop = () => svc.off('beat', handler)
    },
  })
  await using home = await testHost({ builtins: [tapper], clock })
  await home.kernel.hooks.emit('beat', { beat: 1 })
  await undo()
  stop()
  await home.kernel.hooks.emit('beat', { beat: 2 })
  expect(seen).toEqual(['tap', 'on'])
  expect(home.kernel.host.list()[0]?.registered).toEqual([])
})
