import { join } from 'node:path'
import type { Context } from '../context.ts'

const LOOK_MS = 500
/** What a checkout's program is made of. */
const SOURCES = /^(kernel|builtins|[\w-]+\.ts)/

/**
 * Runs a command in a process of its own, and anew whenever the code that it runs has changed: the bundle, or in a checkout
 * the sources. Changes of plugins it takes by itself.
 * @returns its exit code, once a signal has ended it
 */
export async function reloading(words: readonly string[], { house, ports, terminal }: Context): Promise<number> {
  const { clock } = ports
  const stop = new AbortController()
  let running: Running | undefined
  const end = (signal: NodeJS.Signals) => {
    stop.abort()
    running?.end(signal)
  }
  process.on('SIGTERM', end)
  process.on('SIGINT', end)
  let seen = await stampOf(house.packageRoot, ports)
  running = run(words, ports)
  while (!stop.signal.aborted) {
    await clock.sleep(LOOK_MS, stop.signal)
    const now = await stampOf(house.packageRoot, ports)
    if (now === seen || stop.signal.aborted) continue
    // What is still being written is waited for.
    await clock.sleep(LOOK_MS, stop.signal)
    seen = await stampOf(house.packageRoot, ports)
    if (seen !== now || stop.signal.aborted) continue
    terminal.err('svc: the code has changed: starting anew')
    running.end('SIGTERM')
    await running.ended
    running = run(words, ports)
  }
  return running.ended
}

interface Running {
  ended: Promise<number>
  end(signal: NodeJS.Signals): void
}

function run(words: readonly string[], ports: Context['ports']): Running {
  const argv = [...process.execArgv, process.argv[1]!, ...words]
  const child = ports.spawn(process.execPath, argv, { stdio: 'inherit', env: { ...ports.env } })
  const ended = new Promise<number>(resolve => {
    child.once('error', () => resolve(1))
    child.once('close', code => resolve(code ?? 1))
  })
  return { ended, end: signal => void child.kill(signal) }
}

/** Changes when the code does: the times of its files, and how many there are. */
async function stampOf(packageRoot: string, { files }: Context['ports']): Promise<string> {
  const isBundle = !process.argv[1]!.endsWith('.ts')
  const names = isBundle ? ['dist/svc.js', 'dist/commands.json'] : await sourcesOf(packageRoot, files)
  const times = await Promise.all(
    names.map(name =>
      files.stat(join(packageRoot, name)).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      ),
    ),
  )
  return `${names.length} ${Math.max(0, ...times)}`
}

async function sourcesOf(packageRoot: string, files: Context['ports']['files']): Promise<string[]> {
  const top = (await files.readdir(packageRoot)).filter(name => SOURCES.test(name))
  const below = await Promise.all(
    top.map(async name => {
      const found = await files.readdir(join(packageRoot, name), { recursive: true }).catch(() => undefined)
      return found ? found.map(each => join(name, each)) : [name]
    }),
  )
  return below.flat().filter(name => name.endsWith('.ts'))
}
