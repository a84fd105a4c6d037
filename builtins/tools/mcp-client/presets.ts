import { delimiter, isAbsolute, join } from 'node:path'
import { errorMessage, type PluginHandle } from '#kernel'
import { succeeds } from '#lib/succeeds'
import type { McpServerSettings } from './config.ts'

/** Playwright's MCP server, in the version that was tested with the preset. */
const PLAYWRIGHT = '@playwright/mcp@0.0.83'
/** Runs code in the server's own process, which is outside the sandbox. */
const NEVER_OFFERED = 'browser_run_code_unsafe'
/** Program names of browsers, and Chrome's path on macOS. */
const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const CHROME_ON_MAC = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'

type Parts = Pick<PluginHandle, 'ports' | 'project'>

/** Returns the settings completed by their preset; settings without a preset unchanged. */
export function withPreset(settings: McpServerSettings): McpServerSettings {
  if (settings.preset === undefined) return settings
  const { allow, deny } = settings.tools
  return {
    ...settings,
    command: 'npx',
    args: ['-y', PLAYWRIGHT, '--headless', '--isolated', ...settings.args],
    // Folder of files to upload and of saved files.
    cwd: join('.svc', 'browser'),
    tools: { allow, deny: [...deny, NEVER_OFFERED] },
  }
}

/**
 * Prepares a preset on this machine.
 * @returns the settings with machine-dependent arguments
 * @throws an Error that names what is missing and how to install it
 */
export async function preparePreset(parts: Parts, settings: McpServerSettings): Promise<McpServerSettings> {
  if (settings.preset === undefined) return settings
  const { files } = parts.ports
  const isRoot = process.getuid?.() === 0
  const args = [
    ...settings.args,
    ...(await browserArguments(parts, settings.args)),
    // Chromium's own sandbox does not start for root.
    ...(isRoot ? ['--no-sandbox'] : []),
  ]
  if (!(await findProgram(parts, settings.command ?? '')))
    throw new Error('npx, which starts Playwright, is not in PATH; install npm')
  await files.mkdir(join(parts.project.root, settings.cwd ?? '.'), { recursive: true, mode: 0o700 })
  return { ...settings, args }
}

/** Describes why a preset's program did not start. */
export function presetFailure({ preset }: McpServerSettings, error: unknown): Error {
  const problem = errorMessage(error)
  if (preset === undefined) return error instanceof Error ? error : new Error(problem)
  const remedy = `npx downloads ${PLAYWRIGHT} at the first start; without a network connection, install it beforehand with: npm install ${PLAYWRIGHT}`
  return new Error(`${problem}; ${remedy}`, { cause: error })
}

/**
 * Returns arguments that select the browser: none when the settings do, else an installed browser, else Playwright's
 * own.
 */
async function browserArguments(parts: Parts, args: readonly string[]): Promise<string[]> {
  if (args.some(arg => /^--(executable-path|browser|cdp-endpoint|config)(=|$)/.test(arg))) return []
  for (const name of [...BROWSERS, CHROME_ON_MAC]) {
    const path = await findProgram(parts, name)
    if (path) return ['--executable-path', path]
  }
  const { env, files } = parts.ports
  const caches = [
    join(env.HOME ?? '', '.cache', 'ms-playwright'),
    join(env.HOME ?? '', 'Library', 'Caches', 'ms-playwright'),
  ]
  for (const cache of caches) {
    const entries = await files.readdir(cache).catch(() => [])
    if (entries.some(entry => entry.startsWith('chromium-'))) return ['--browser', 'chromium']
  }
  throw new Error(
    "no browser was found; install Chromium or Chrome, or install Playwright's browser with: npx playwright install chromium",
  )
}

/** Returns the path of a program, given by path or found in PATH. */
async function findProgram({ ports: { env, files } }: Parts, name: string): Promise<string | undefined> {
  const paths = isAbsolute(name) ? [name] : (env.PATH ?? '').split(delimiter).map(folder => join(folder, name))
  for (const path of paths) {
    const isThere = await succeeds(files.access(path, files.constants.X_OK))
    if (isThere) return path
  }
  return undefined
}
