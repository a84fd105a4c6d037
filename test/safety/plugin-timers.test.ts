import { existsSync, readFileSync } from 'node:fs'
import { unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { HostToken } from '#kernel'
import { RunningSvc, tempDir, testHost, until } from '../support/index.ts'

/** Kinds of timers that write a line, at the top level and in `setup`. */
const KINDS = ['global', 'module', 'promise', 'iterator', 'required', 'imported', 'promisified', 'helper', 'in setup']

function ticking(log: string): Record<string, string> {
  return {
    'plugins/ticking.ts': `
import { appendFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { setInterval as every } from 'node:timers'
import { setTimeout as sleep, setInterval as beats } from 'timers/promises'
import { promisify } from 'node:util'
import { definePlugin } from 'svc'
import { tick } from './ticking/helper.ts'

const write = (kind: string) => appendFileSync(${JSON.stringify(log)}, kind + '\\n')
tick(write)
setInterval(write, 10, 'global')
every(() => write('module'), 10)
void (async () => { for (;;) { await sleep(10); write('promise') } })()
void (async () => { for await (const _ of beats(10)) write('iterator') })()
const again = () => { write('required'); require('timers').setTimeout(again, 10) }
again()
void import('node:timers').then(({ default: timers }) => timers.setInterval(() => write('imported'), 10))
const later = promisify(setTimeout)
void (async () => { for (;;) { await later(10); write('promisified') } })()
export default definePlugin({ name: 'ticking', setup() { setInterval(write, 10, 'in setup') } })
`,
    'plugins/ticking/helper.ts': `export function tick(write: (kind: string) => void) {
  setImmediate(() => { write('helper'); setTimeout(() => tick(write), 10) })
}`,
  }
}

const FAST = { '.svc/config.yaml': 'daemon:\n  heartbeat: 0.1\nmodel:\n  sim_delay: 0\n' }
const kinds = (log: string) => new Set(existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [])

/** Returns whether nothing is written for ten times the timer interval. */
async function isStill(log: string): Promise<boolean> {
  const before = readFileSync(log, 'utf8').length
  await new Promise(resolve => setTimeout(resolve, 100))
  return readFileSync(log, 'utf8').length === before
}

it('all timers of a plugin end when its file is removed from a running daemon', async () => {
  await using dir = await tempDir(FAST)
  const log = join(dir.path, 'ticks')
  await dir.write(ticking(log))
  await using daemon = new RunningSvc(['start'], { cwd: dir.path })
  await until(() => KINDS.every(kind => kinds(log).has(kind)))
  await unlink(join(dir.path, 'plugins/ticking.ts'))
  await daemon.waitForOutput(/removed/)
  await until(() => isStill(log))
  expect(daemon.stdout + daemon.stderr).not.toMatch(/AbortError|unhandled/i)
})

it('checking a plugin leaves no timers behind', async () => {
  await using home = await testHost({ clock: 'system' })
  const log = join(home.root, 'ticks')
  await home.write(ticking(log))
  await home.kernel.use(HostToken).check(join(home.root, 'plugins/ticking.ts'))
  expect(await isStill(log)).toBe(true)
})

it.each([
  ['its file throws', `throw new Error('no')`],
  ['setup throws', `export default { name: 'bad', setup() { throw new Error('no') } }`],
  ['a resource throws', `export default { name: 'bad', setup(svc) { svc.start(() => { throw new Error('no') }) } }`],
])('a plugin that fails to load leaves no timers behind: %s', async (_, rest) => {
  await using home = await testHost({ clock: 'system' })
  const log = join(home.root, 'ticks')
  const write = `import { writeFileSync, appendFileSync } from 'node:fs'\nwriteFileSync(${JSON.stringify(log)}, '')\n`
  await home.write({
    'plugins/bad.ts': `${write}setInterval(() => appendFileSync(${JSON.stringify(log)}, '.'), 1)\n${rest}`,
  })
  expect(await home.kernel.host.apply('bad')).toMatchObject([{ outcome: 'failed' }])
  expect(await isStill(log)).toBe(true)
})

it('a plugin may declare the names of timers itself, and timers behave as in Node', async () => {
  const source = `
import { setTimeout as sleep } from 'node:timers/promises'
import timers from 'node:timers'
const setInterval = (word: string) => word
const aborted = await sleep(10_000, undefined, { signal: AbortSignal.timeout(1) }).catch((error: Error) => error.name)
const fired = await new Promise(resolve => { setTimeout((...words) => resolve(words.join(' ')), 1, 'a', 'b') })
const cleared = setTimeout(() => { throw new Error('was cleared') }, 1)
clearTimeout(cleared)
const value = await timers.promises.setImmediate('now')
export default { name: 'own', description: [setInterval('own'), aborted, fired, cleared.hasRef(), value].join(), setup() {} }
`
  await using home = await testHost({ clock: 'system', plugins: { 'own.ts': source } })
  const own = home.kernel.host.list().find(({ name }) => name === 'own')
  expect(own).toMatchObject({ error: null, description: 'own,AbortError,a b,true,now' })
})
