import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { project } from '../cli/project.ts'
import { RunningSvc, svc, type TempDir, tempDir } from '../support/index.ts'

const FAST = { '.svc/config.yaml': 'daemon:\n  heartbeat: 0.2\nwatchdog:\n  limit: 1\nmodel:\n  sim_delay: 0\n' }
const fileOf = (dir: TempDir) => readFile(join(dir.path, '.svc/config.yaml'), 'utf8')
const BAD: Record<string, string> = {
  'a loop in setup': `export default { name: 'bad', setup() { for (;;) {} } }`,
  'a loop at the top': `for (;;) {}\nexport default { name: 'bad', setup() {} }`,
  'an exit in setup': `export default { name: 'bad', setup() { process.exit(7) } }`,
  'an exit at the top': `process.exit(7)\nexport default { name: 'bad', setup() {} }`,
}

describe('a plugin that loops forever or ends the process', () => {
  it.each(Object.entries(BAD))('%s: read commands still answer', async (_, source) => {
    await using dir = await tempDir(FAST)
    await svc(['spawn', 'coder'], { cwd: dir.path })
    await dir.write({ 'plugins/bad.ts': source })
    for (const words of [['status'], ['plugins'], ['config', 'get', 'daemon.heartbeat']]) {
      const { code, stdout } = await svc(words, { cwd: dir.path })
      expect({ words, code }).toEqual({ words, code: 0 })
      expect(stdout).not.toBe('')
    }
    await using watch = new RunningSvc(['watch', '--compact'], { cwd: dir.path })
    await watch.waitForOutput(/coder-/)
  })

  it.each(Object.entries(BAD))('%s: other commands end, and svc plugins check names the plugin', async (_, source) => {
    await using dir = await tempDir({ ...FAST, 'plugins/bad.ts': source })
    for (const words of [
      ['plugins', 'check', 'plugins/bad.ts'],
      // By now it is quarantined if it blocked the process, and is checked all the same.
      ['plugins', 'check', 'plugins/bad.ts'],
      ['init', '--quiet'],
    ]) {
      const { code, stderr } = await svc(words, { cwd: dir.path })
      expect(code, words.join(' ')).not.toBe(7)
      if (words[0] === 'plugins') {
        expect(code).not.toBe(0)
        expect(stderr).toMatch(/bad\.ts/)
      } else expect({ code, stderr }).toMatchObject({ code: 0 })
    }
  })
})

describe('svc config with a plugin that hangs or ends the process', () => {
  const LIMIT = 'watchdog:\n  limit: 1\n'
  const bad = {
    'a loop in setup': `export default { name: 'bad', setup() { for (;;) {} } }`,
    'an exit in setup': `export default { name: 'bad', setup() { process.exit(3) } }`,
    'an exit at the top': `process.exit(3)\nexport default { name: 'bad', setup() {} }`,
    'an exit that comes late': `export default { name: 'bad', setup() { process.reallyExit(3) } }`,
  }
  it.each(Object.entries(bad))(
    '%s: fails svc config validate, and does not prevent setting or unsetting a key',
    async (_, source) => {
      await using dir = await project({ '.svc/config.yaml': LIMIT, 'plugins/bad.ts': source })
      const run = (...words: string[]) => svc(words, { cwd: dir.path })
      const { code, stdout } = await run('config', 'validate')
      expect({ code, stdout }).toEqual({
        code: 1,
        stdout: expect.stringMatching(/plugins: .*(bad\.ts|The plugins of)/),
      })
      expect((await run('config', 'set', 'daemon.heartbeat', '3')).code).toBe(0)
      expect(await run('config', 'set', 'daemon.heartbeat', 'soon')).toMatchObject({ code: 2 })
      expect(await fileOf(dir)).toContain('heartbeat: 3')
      expect(await run('config', 'unset', 'daemon.heartbeat')).toMatchObject({ code: 0, stderr: '' })
      expect(await fileOf(dir)).toBe(LIMIT)
    },
  )
})
