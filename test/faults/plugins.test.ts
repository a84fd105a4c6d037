import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Svc } from '../../index.ts'
import { RunningSvc, until } from '../support/index.ts'
import { guardedProject, plugin, pluginsOf } from './guarded.ts'

const UP = /^Logs: /m

it('process.exit in a plugin is refused with file and line, and the agents go on', async () => {
  const plugins: Record<string, string> = {
    loading: plugin('loading', '', 'process.exit(2)'),
    setup: plugin('setup', 'process.exit(4)'),
    handler: plugin('handler', `svc.on('cycle_end', () => process.exit(4))`),
    timer: plugin('timer', 'svc.start(() => void setTimeout(() => process.exit(4), 10))'),
    swallowing: plugin('swallowing', `svc.on('cycle_end', () => { try {\n\nprocess.exit(6) } catch {} })`),
  }
  const dir = await guardedProject(15, plugins)
  await using daemon = new RunningSvc(['start', '-p', 'coder'], { cwd: dir.path })
  await daemon.waitForOutput(/completed goal-/)
  for (const [name, text] of Object.entries(plugins)) {
    // The exit code is the line number.
    const [, line] = /process\.exit\((\d)\)/.exec(text)!
    await daemon.waitForOutput(
      new RegExp(`"plugin":"${name}".*plugins/${name}\\.ts:${line}:\\d+: process\\.exit\\(${line}\\) is refused`),
    )
  }
  const { loading, setup, timer } = await pluginsOf(dir)
  expect(loading?.state).toBe('failed')
  expect(loading?.error).toMatch(/plugins\/loading\.ts:2\): process\.exit\(2\) is refused/)
  expect(setup?.error).toMatch(/plugins\/setup\.ts:4\): process\.exit\(4\) is refused/)
  expect(timer).toMatchObject({ state: 'live', failures: 1 })
  expect(await daemon.end('SIGTERM')).toBe(0)
})

describe('an uncaught error', () => {
  it('is reported with its place, and suspends a plugin that throws again and again', async () => {
    const throwing = `svc.start(() => {
  const timer = setInterval(() => { throw new Error('thrown late') }, 20)
  return () => clearInterval(timer)
})`
    const dir = await guardedProject(15, {
      throwing: plugin('throwing', throwing),
      rejecting: plugin('rejecting', `svc.on('cycle_end', () => void Promise.reject(new Error('rejected late')))`),
      // Rejects before the daemon is up.
      loading: plugin('loading', '', `Promise.reject(new Error('left behind'))`),
    })
    await using daemon = new RunningSvc(['start', '-p', 'coder'], { cwd: dir.path })
    await daemon.waitForOutput(/"plugin":"throwing".*uncaught error: thrown late \(.*throwing\.ts:5:\d+\)/)
    await daemon.waitForOutput(/"plugin":"rejecting".*uncaught error: rejected late \(.*rejecting\.ts:4:\d+\)/)
    await daemon.waitForOutput(/"plugin":"loading".*uncaught error: left behind \(.*loading\.ts:2:\d+\)/)
    await until(async () => (await pluginsOf(dir)).throwing?.state === 'suspended')
    await until(async () => (await pluginsOf(dir)).rejecting?.failures)
    await daemon.waitForOutput(/completed goal-/)
    expect(await daemon.end('SIGTERM')).toBe(0)
  })

  const throwOnSignal = `process.on('SIGUSR2',()=>{throw(Error('of%20nobody'))})`
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${throwOnSignal}` }

  it('ends the process in order with exit code 1 when no plugin can have caused it', async () => {
    const dir = await guardedProject(15, {})
    await using daemon = new RunningSvc(['start'], { cwd: dir.path, env })
    await daemon.waitForOutput(UP)
    expect(await daemon.end('SIGUSR2')).toBe(1)
    expect(daemon.stderr).toContain('uncaught error: of nobody')
    expect(daemon.stderr).toContain('the process ends: the error was not caused by a plugin')
    await expect(access(join(dir.path, '.svc/daemon.pid'))).rejects.toThrow()
  })

  it('ends nothing while there are plugins that may have caused it', async () => {
    const dir = await guardedProject(15, { calm: plugin('calm', '') })
    await using daemon = new RunningSvc(['start'], { cwd: dir.path, env })
    await daemon.waitForOutput(UP)
    daemon.process.kill('SIGUSR2')
    await daemon.waitForOutput(/uncaught error: of nobody/)
    expect(await daemon.end('SIGTERM')).toBe(0)
  })
})

it('inside an embedding program nothing is watched, refused or caught', async () => {
  const dir = await guardedProject(15, { calm: plugin('calm', '') })
  const { exit } = process
  const listeners = process.listenerCount('uncaughtException')
  await using host = await Svc.open(dir.path, { roles: ['daemon'], log: { level: 'silent' } })
  expect(await host.invoke('plugins.list')).toContainEqual(expect.objectContaining({ name: 'calm', state: 'live' }))
  expect(process.exit).toBe(exit)
  expect(process.listenerCount('uncaughtException')).toBe(listeners)
})
