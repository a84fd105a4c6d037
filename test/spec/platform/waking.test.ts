import { execFileSync } from 'node:child_process'
import { appendFile, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { PluginDefinition } from '#kernel'
import { SchedulerToken } from '#platform/heartbeat/contract'
import waking from '#platform/waking/index'
import { Svc } from '../../../index.ts'
import { project } from '../../cli/project.ts'
import { HeldClock, type TestHost, type TestHostOptions, until } from '../../support/index.ts'
import { spawn, testHostWithModel } from '../core/models/model-host.ts'
import { goalAnswer } from '../safety/approvals-host.ts'

/** Creates agents that find nothing to do, so that every cycle is caused by a wake. */
async function idlers(
  config: Record<string, unknown> = {},
  builtins: PluginDefinition[] = [],
  options: TestHostOptions = {},
) {
  const home = await testHostWithModel(() => goalAnswer(''), {
    builtins: [waking, ...builtins],
    clock: 'system',
    ...options,
    config: { daemon: { heartbeat: 60, min_rest: 0, ...config } },
  })
  const begun: number[] = []
  home.kernel.hooks.on('cycle_start', () => void begun.push(performance.now()))
  return Object.assign(home, { begun })
}

/** Starts the heartbeat and waits until the first cycle of each agent is over and all sources wait. */
async function startAgent(home: TestHost & { begun: number[] }) {
  await spawn(home)
  home.kernel.heartbeat.start()
  await until(() => home.begun.length === 1 && home.kernel.heartbeat.inFlight.length === 0)
  await quiet()
}

/** Waits long enough to take a baseline, or to show that nothing happens. */
const quiet = (ms = 400) => new Promise(resolve => setTimeout(resolve, ms))

describe('watched files', () => {
  it('a change of a watched file starts the next cycle at once', async () => {
    await using home = await idlers({ watch_files: ['todo.txt'] }, [], { files: { 'todo.txt': 'one\n' } })
    await startAgent(home)
    await appendFile(join(home.root, 'todo.txt'), 'two\n')
    await until(() => home.begun.length === 2)
  })

  it('a missing path wakes when it appears, when it is replaced, and when it is removed', async () => {
    await using home = await idlers({ watch_files: ['later.txt'] })
    await startAgent(home)
    const file = join(home.root, 'later.txt')
    await writeFile(file, 'here')
    await until(() => home.begun.length === 2)
    await quiet()
    await writeFile(`${file}.new`, 'other')
    await rename(`${file}.new`, file)
    await until(() => home.begun.length === 3)
    await quiet()
    await rm(file)
    await until(() => home.begun.length === 4)
  })

  it('a path in a missing folder is found within the poll interval', async () => {
    await using home = await idlers({ watch_files: ['not/yet/there.txt'], wake_poll_interval: 0.2 })
    await startAgent(home)
    await mkdir(join(home.root, 'not/yet'), { recursive: true })
    await writeFile(join(home.root, 'not/yet/there.txt'), 'here')
    await until(() => home.begun.length === 2)
  })

  it('a watched folder wakes when its direct files change', async () => {
    await using home = await idlers({ watch_files: ['inbox'] }, [], { files: { 'inbox/a.txt': 'a' } })
    await startAgent(home)
    await writeFile(join(home.root, 'inbox/b.txt'), 'b')
    await until(() => home.begun.length === 2)
    await quiet()
    await appendFile(join(home.root, 'inbox/a.txt'), 'more')
    await until(() => home.begun.length === 3)
  })

  it('a link wakes when its target changes', async () => {
    await using home = await idlers({ watch_files: ['link'] }, [], { files: { 'elsewhere/real.txt': 'a' } })
    await symlink(join(home.root, 'elsewhere/real.txt'), join(home.root, 'link'))
    await startAgent(home)
    await appendFile(join(home.root, 'elsewhere/real.txt'), 'b')
    await until(() => home.begun.length === 2)
  })

  it('a pipe without a writer does not block other files', async () => {
    await using home = await idlers({ watch_files: ['pipe', 'todo.txt'] }, [], { files: { 'todo.txt': 'one' } })
    execFileSync('mkfifo', [join(home.root, 'pipe')])
    await startAgent(home)
    await appendFile(join(home.root, 'todo.txt'), 'two')
    await until(() => home.begun.length === 2)
  })

  it('many writes in a row cause one wake', async () => {
    await using home = await idlers({ watch_files: ['todo.txt'] }, [], { files: { 'todo.txt': '' } })
    await startAgent(home)
    for (let n = 0; n < 30; n++) await appendFile(join(home.root, 'todo.txt'), `${n}\n`)
    await until(() => home.begun.length === 2)
    await quiet(600)
    expect(home.begun).toHaveLength(2)
  })

  it('changes of other files in the folder of a watched file do not wake an agent', async () => {
    await using home = await idlers({ watch_files: ['todo.txt'] }, [], { files: { 'todo.txt': 'one' } })
    await startAgent(home)
    for (let n = 0; n < 30; n++) await writeFile(join(home.root, `other-${n}.txt`), 'x')
    await quiet(600)
    expect(home.begun).toHaveLength(1)
  })

  it('without file events of the system, files are polled, with an interval that can change while running', async () => {
    const files = await import('node:fs/promises')
    const deaf = {
      ...files,
      // biome-ignore lint/correctness/useYield: it fails before it could.
      async *watch() {
        throw new Error('no watches left')
      },
    }
    await using home = await idlers({ watch_files: ['todo.txt'], wake_poll_interval: 600 }, [], {
      files: { 'todo.txt': 'one' },
      ports: { files: deaf as never },
    })
    await startAgent(home)
    expect(home.logged('cannot be watched and is only checked every 600 s: no watches left').length).toBeGreaterThan(0)
    await appendFile(join(home.root, 'todo.txt'), 'two')
    await quiet()
    expect(home.begun).toHaveLength(1)
    await home.kernel.config.patch({ daemon: { wake_poll_interval: 0.1 } })
    await home.kernel.hooks.emit('config_changed', { keys: await home.kernel.config.reload() })
    await until(() => home.begun.length === 2)
    await quiet(700)
    await appendFile(join(home.root, 'todo.txt'), 'three')
    await until(() => home.begun.length === 3)
  })
})

it('an agent that is woken during its cycle begins the next as soon as that ends, and not at a later poll', async () => {
  await using home = await idlers({}, [], { clock: new HeldClock() })
  const agent_id = await spawn(home)
  let release: (() => void) | undefined
  home.kernel.hooks.get('cleanup').tap('held', async () => {
    if (home.begun.length === 1) await new Promise<void>(resolve => (release = resolve))
  })
  home.kernel.heartbeat.start()
  await until(() => release !== undefined)
  await home.kernel.invoke('agents.nudge', { id: agent_id, message: 'look' })
  await quiet(50)
  release!()
  // No timer fires, because the clock stands still.
  await until(() => home.begun.length === 2)
})

describe('several wake sources', () => {
  it('that fire constantly start cycles more than 200 ms apart, however many they are', async () => {
    const eager = (name: string): PluginDefinition => ({
      name,
      setup: svc => void svc.wakeSource({ name, wait: async () => 'again' }),
    })
    await using home = await idlers({ idle_backoff: false }, ['a', 'b', 'c', 'd', 'e'].map(eager))
    const before = performance.now()
    await startAgent(home)
    await until(() => home.begun.length >= 10)
    // Single gaps are no measure, because a busy machine notices one start later than the next. The first may be shorter.
    expect(performance.now() - before).toBeGreaterThan(8 * 200)
  })

  it('lose no wake while the store cannot be written, and none of them is disabled for it', async () => {
    let post = () => {}
    const mail: PluginDefinition = {
      name: 'mail',
      setup: svc =>
        void svc.wakeSource({
          name: 'mail',
          wait: () =>
            new Promise(resolve => {
              post = () => resolve('mail')
            }),
        }),
    }
    await using home = await idlers({}, [mail])
    await startAgent(home)
    const { SchedulerToken } = await import('#platform/heartbeat/contract')
    const scheduler = home.kernel.use(SchedulerToken)
    const wake = scheduler.wake.bind(scheduler)
    let failures = 7
    scheduler.wake = (agents, reason) => (failures-- > 0 ? Promise.reject(new Error('locked')) : wake(agents, reason))
    post()
    await until(() => home.begun.length === 2)
    expect(home.logged('a wake (mail) failed and is tried again: locked')).toHaveLength(7)
    expect(home.logged('no longer used')).toHaveLength(0)
  })

  it('include sources that an embedding program adds, until it removes them', async () => {
    await using dir = await project({ '.svc/config.yaml': 'daemon:\n  heartbeat: 60\n  min_rest: 0\n' })
    await using svc = await Svc.open(dir.path, { log: { level: 'silent' } })
    let begun = 0
    svc.kernel.hooks.on('cycle_start', () => void begun++)
    let aborted = false
    let post = () => {}
    const undo = svc.daemon.addWakeSource({
      name: 'doorbell',
      wait: signal =>
        new Promise((resolve, reject) => {
          post = () => resolve('rang')
          signal.addEventListener('abort', () => {
            aborted = true
            reject(signal.reason)
          })
        }),
    })
    await svc.spawn('coder')
    await svc.invoke('daemon.pause').catch(() => {})
    await svc.daemon.start()
    await until(() => begun > 0 && svc.kernel.heartbeat.inFlight.length === 0)
    await quiet()
    const before = begun
    post()
    await until(() => begun > before)
    await undo()
    expect(aborted).toBe(true)
    await svc.daemon.stop()
    expect(svc.kernel.heartbeat.live).toBe(false)
  })
})

describe('an agent that was claimed in advance', () => {
  it('is claimed again when its turn did not come, instead of waiting for its lease to expire', async () => {
    await using home = await testHostWithModel(() => goalAnswer(''))
    for (let n = 0; n < 3; n++) await spawn(home)
    const scheduler = home.kernel.use(SchedulerToken)
    const [first] = (await scheduler.claim(1)).filter(({ kind }) => kind === 'agent')
    await scheduler.commit(first!, [], { run_at: home.clock.ms() + 600_000, more: true })
    expect(await scheduler.claim(0)).toEqual([])
    await home.clock.advance(8_000)
    expect((await scheduler.claim(5)).map(({ cycle_num }) => cycle_num)).toEqual([1, 1])
  })
})
