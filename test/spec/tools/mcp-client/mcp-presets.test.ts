import { chmod, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type TempDir, tempDir, until } from '../../../support/index.ts'
import { ScriptedServer, testHostWithMcp } from './mcp-client-host.ts'

const NOTHING = '#!/bin/sh\nexit 1\n'

/** A folder of programs, for PATH. */
async function programs(files: Record<string, string>): Promise<TempDir> {
  const dir = await tempDir(files)
  for (const name of Object.keys(files)) await chmod(join(dir.path, name), 0o755)
  return dir
}

/** Opens a host with the preset, on a machine that has only these programs. */
const onMachine = (bin: TempDir, more: object = {}) =>
  testHostWithMcp({ browser: { preset: 'playwright', ...more } }, { env: { PATH: bin.path, HOME: bin.path } })

const errorOf = async (home: Awaited<ReturnType<typeof onMachine>>) => {
  await until(async () => (await home.server('browser')).error)
  return (await home.server('browser')).error
}

describe('the browser preset', () => {
  it('is absent until it is configured', async () => {
    await using home = await testHostWithMcp({})
    expect(await home.servers()).toEqual([])
  })

  it('starts a pinned version of the package with an installed browser, in a folder of its own', async () => {
    await using scripted = await ScriptedServer.make(['browser_navigate', 'browser_run_code_unsafe', 'browser_close'])
    const log = scripted.file('argv')
    const server = scripted.settings.args[0]
    const npx = `#!/bin/sh\n{ pwd; printf '%s\\n' "$@"; } > '${log}'\nexec '${process.execPath}' '${server}'\n`
    await using bin = await programs({ npx, chromium: NOTHING })
    await using home = await onMachine(bin, { args: ['--viewport-size', '800x600'], tools: { deny: ['*_close'] } })
    await home.waitForTools('browser')
    const [cwd, ...argv] = (await readFile(log, 'utf8')).trim().split('\n')
    expect(cwd).toMatch(/\/\.svc\/browser$/)
    expect(argv.slice(0, 6)).toEqual([
      '-y',
      expect.stringMatching(/^@playwright\/mcp@\d+\.\d+\.\d+$/),
      '--headless',
      '--isolated',
      '--viewport-size',
      '800x600',
    ])
    expect(argv.slice(6, 8)).toEqual(['--executable-path', join(bin.path, 'chromium')])
    expect(argv.includes('--no-sandbox')).toBe(process.getuid?.() === 0)
    const { tools, target } = await home.server('browser')
    expect(target).toBe('preset playwright')
    // Tools that run code outside the sandbox are never offered.
    expect(tools.filter(({ offered }) => offered).map(({ tool }) => tool)).toEqual(['browser_navigate'])
  })

  it('reports a missing browser, and how to install one', async () => {
    await using bin = await programs({ npx: NOTHING })
    await using home = await onMachine(bin)
    expect(await errorOf(home)).toMatch(/no browser was found; install Chromium or Chrome, or .* install chromium$/)
  })

  it('reports a missing npx', async () => {
    await using bin = await programs({ chromium: NOTHING })
    await using home = await onMachine(bin)
    expect(await errorOf(home)).toMatch(/npx, which starts Playwright, is not in PATH/)
  })

  it('says how to install the package where it cannot be downloaded', async () => {
    await using bin = await programs({ npx: NOTHING, chromium: NOTHING })
    await using home = await onMachine(bin)
    expect(await errorOf(home)).toMatch(
      /code 1; npx downloads .* install it beforehand with: npm install @playwright\/mcp@/,
    )
  })

  it('cannot be combined with a command, and must have a known name', async () => {
    const both = testHostWithMcp({ browser: { preset: 'playwright', command: 'node' } })
    await expect(both).rejects.toThrow(/set exactly one of command, url and preset/)
    await expect(testHostWithMcp({ browser: { preset: 'lynx' } })).rejects.toThrow(/preset/)
  })
})
