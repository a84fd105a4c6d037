import { existsSync, readFileSync } from 'node:fs'
import { unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { RunningSvc, svc, tempDir, until } from '../support/index.ts'

const FAST = { '.svc/config.yaml': 'daemon:\n  heartbeat: 0.1\nmodel:\n  sim_delay: 0\n' }

/** Files of an npm package that writes its name every 10 ms with each kind of timer. */
function ticker(name: string, log: string, kind: 'commonjs' | 'module'): Record<string, string> {
  const body = `
const write = kind => appendFileSync(${JSON.stringify(log)}, '${name} ' + kind + '\\n')
const again = () => { write('timeout'); setTimeout(again, 10) }
function begin() {
  setInterval(write, 10, 'interval')
  every(write, 10, 'module')
  again()
  void (async () => { for (;;) { await sleep(10); write('promise') } })()
}`
  const text =
    kind === 'module'
      ? `import { appendFileSync } from 'node:fs'\nimport { setInterval as every } from 'node:timers'\nimport { setTimeout as sleep } from 'node:timers/promises'${body}\nexport { begin }`
      : `const { appendFileSync } = require('fs')\nconst { setInterval: every } = require('timers')\nconst sleep = require('util').promisify(setTimeout)${body}\nexports.begin = begin`
  return {
    [`node_modules/${name}/package.json`]: JSON.stringify({ name, version: '1.0.0', type: kind, main: 'index.js' }),
    [`node_modules/${name}/index.js`]: text,
  }
}

const uses = (plugin: string, name: string) => ({
  [`plugins/${plugin}.ts`]: `import { definePlugin } from 'svc'\nimport { begin } from '${name}'\nexport default definePlugin({ name: '${plugin}', setup() { begin() } })\n`,
})

const lines = (log: string) => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [])
const kinds = (log: string, name: string) => new Set(lines(log).filter(line => line.startsWith(`${name} `)))

/** Returns whether a package writes nothing for ten times its timer interval. */
async function isStill(log: string, name: string): Promise<boolean> {
  const count = () => lines(log).filter(line => line.startsWith(`${name} `)).length
  const before = count()
  await new Promise(resolve => setTimeout(resolve, 100))
  return count() === before
}

it.each(['commonjs', 'module'] as const)(
  'the timers of an npm package end with the last plugin that uses it: %s',
  async kind => {
    await using dir = await tempDir(FAST)
    const log = join(dir.path, 'ticks')
    await dir.write({
      ...ticker('ticks', log, kind),
      ...ticker('below', log, kind),
      'node_modules/above/package.json': '{"name":"above","version":"1.0.0","dependencies":{"below":"*"}}',
      'node_modules/above/index.js': `exports.begin = () => import('below').then(({ begin }) => begin())`,
      ...uses('first', 'ticks'),
      ...uses('second', 'ticks'),
      ...uses('third', 'above'),
    })
    await using daemon = new RunningSvc(['start'], { cwd: dir.path })
    await until(() => kinds(log, 'ticks').size === 4 && kinds(log, 'below').size === 4)
    await unlink(join(dir.path, 'plugins/first.ts'))
    await daemon.waitForOutput(/removed \(.*first\.ts/)
    expect(await isStill(log, 'ticks')).toBe(false)
    await unlink(join(dir.path, 'plugins/second.ts'))
    await unlink(join(dir.path, 'plugins/third.ts'))
    await until(() => isStill(log, 'ticks'))
    await until(() => isStill(log, 'below'))
    expect(daemon.stdout + daemon.stderr).not.toMatch(/AbortError|unhandled/i)
  },
)

it('svc doctor names timers that cannot be stopped because the program may use their package too', async () => {
  await using dir = await tempDir(FAST)
  const log = join(dir.path, 'ticks')
  await dir.write({ ...ticker('pg', log, 'commonjs'), ...uses('pool', 'pg') })
  await using daemon = new RunningSvc(['start'], { cwd: dir.path })
  await until(() => kinds(log, 'pg').size === 4)
  await unlink(join(dir.path, 'plugins/pool.ts'))
  await daemon.waitForOutput(/removed \(.*pool\.ts/)
  const { stdout } = await svc(['doctor', '--json'], { cwd: dir.path })
  const { checks } = JSON.parse(stdout) as { checks: { name: string; level: string; message: string }[] }
  expect(checks.find(({ name }) => name === 'plugins')).toMatchObject({
    level: 'warn',
    message: expect.stringMatching(
      /^\d timers of the npm package pg \(.*node_modules\/pg\/index\.js:\d+\) still run, although the plugin pool, which used the package, was removed$/,
    ),
  })
})
