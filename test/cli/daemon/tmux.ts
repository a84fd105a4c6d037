import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { until } from '../../support/until.ts'

const run = promisify(execFile)

/** Whether tmux is installed; without it, tests that need a real terminal are skipped. */
export const withTmux = spawnSync('tmux', ['-V']).status === 0

let servers = 0

/** A program in a real terminal. */
export interface Tmux extends AsyncDisposable {
  /** Types text or keys, such as `Enter`, `Tab`, `Up`, `Escape`, `C-c`. */
  type(...keys: string[]): Promise<void>
  /** Sends characters at once. */
  send(text: string): Promise<void>
  /** Pastes text, marked as such if the program has asked for it. */
  paste(text: string): Promise<void>
  /** Returns the visible page. */
  page(): Promise<string>
  /** Waits until the page matches the pattern. @returns the page */
  shows(pattern: RegExp): Promise<string>
  resize(columns: number, rows: number): Promise<void>
}

/** Opens a terminal of this size, and runs a shell command in it. */
export async function tmux(
  cwd: string,
  { columns, rows }: { columns: number; rows: number },
  command: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Tmux> {
  const server = `svc-test-${process.pid}-${++servers}`
  const ask = async (...words: string[]) => {
    const { stdout } = await run('tmux', ['-L', server, ...words], { env: { PATH: process.env.PATH!, TERM: 'xterm' } })
    return stdout
  }
  const size = ['-x', String(columns), '-y', String(rows)]
  // Exported in the shell itself, since the machine's profile sets some of them.
  const exported = Object.entries(env).map(([name, value]) => `export ${name}='${value}'; `)
  await ask('-f', '/dev/null', 'new-session', '-d', '-s', 'main', '-c', cwd, ...size, exported.join('') + command)
  const page = () => ask('capture-pane', '-p', '-t', 'main')
  return {
    async type(...keys) {
      for (const key of keys) await ask('send-keys', '-t', 'main', key)
    },
    async send(text) {
      const codes = [...text].map(char => char.charCodeAt(0).toString(16))
      await ask('send-keys', '-t', 'main', '-H', ...codes)
    },
    async paste(text) {
      await ask('set-buffer', text)
      await ask('paste-buffer', '-p', '-t', 'main')
    },
    page,
    async shows(pattern) {
      let seen = ''
      await until(async () => {
        seen = await page()
        return pattern.test(seen)
      }).catch(() => {
        throw new Error(`The page never showed ${pattern}:\n${seen}`)
      })
      return seen
    },
    async resize(wide, high) {
      await ask('resize-window', '-t', 'main', '-x', String(wide), '-y', String(high))
    },
    async [Symbol.asyncDispose]() {
      await ask('kill-server').catch(() => {})
    },
  }
}
