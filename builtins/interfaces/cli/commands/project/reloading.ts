import { join } from 'node:path'
import type { Context } from '../../context.ts'
import { SPAWNED } from '../../project/trust.ts'

const LOOK_MS = 500
/** What a checkout's program is made of. */
const SOURCES = /^(kernel|builtins|embed|[\w-]+\.ts)/

/**
 * Runs a command in a process of its own, and anew whenever the code that it runs has changed: the bundle, or in a checkout
 * the sources. Changes of plugins it takes by itself.
 * @returns its exit code, once a signal has ended it
 */
export async function reloading(words: readonly string[], { program, ports, terminal }: Context): Promise<number> {
  const { clock } = ports
  const stop = new AbortController()
  const { signal } = stop
  const stamp = () => stampOf(program.packageRoot, ports)
  const begin = () => {
    const begun = run(words, ports)
    void begun.ended.then(code => {
      if (begun.wasAsked) return
      terminal.err(`svc: it has ended with exit code ${code}; it starts anew when the code changes (Ctrl-C ends it)`)
    })
    return begun
  }
  let seen = await stamp()
  let running = begin()
  const end = (name: NodeJS.Signals) => {
    stop.abort()
    running.end(name)
  }
  process.on('SIGTERM', end)
  process.on('SIGINT', end)
  while (!signal.aborted) {
    await clock.sleep(LOOK_MS, signal)
    const before = seen
    // What is still being written is waited for.
    for (let now = await stamp(); now !== seen && !signal.aborted; now = await stamp()) {
      seen = now
      await clock.sleep(LOOK_MS, signal)
    }
    if (seen === before || signal.aborted) continue
    terminal.err('svc: the code has changed: starting anew')
    running.end('SIGTERM')
    await running.ended
    if (!signal.aborted) running = begin()
  }
  return running.ended
}

interface Running {
  /** With the exit code. */
  ended: Promise<number>
  /** The operator ended it. */
  wasAsked: boolean
  end(signal: NodeJS.Signals): void
}

function run(words: readonly string[], ports: Context['ports']): Running {
  const argv = [...process.execArgv, process.argv[1]!, ...words]
  // In a group of its own: the terminal's Ctrl-C would reach it twice, and the second one ends it at once.
  const child = ports.spawn(process.execPath, argv, {
    stdio: 'inherit',
    detached: true,
    env: { ...ports.env, [SPAWNED]: '1' },
  })
  const ended = new Promise<number>(resolve => {
    child.once('error', () => resolve(1))
    child.once('close', code => resolve(code ?? 1))
  })
  const running: Running = {
    ended,
    wasAsked: false,
    end(signal) {
      running.wasAsked = true
      child.kill(signal)
    },
  }
  return running
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
  return `${names.length} ${times.reduce((sum, time) => sum + time, 0)}`
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
