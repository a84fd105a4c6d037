import { join } from 'node:path'
import type { Ports } from '#kernel'
import type { CliProgram, Context } from '../../context.ts'
import { SPAWNED } from '../../project/trust.ts'

const LOOK_MS = 500

/**
 * Runs a command in a child process and restarts it when code changes that is loaded only at startup: the bundle, and
 * in a checkout the sources that cannot be reloaded. The process itself reloads plugins and most modules.
 * @returns its exit code after a signal has ended it
 */
export async function runReloading(words: readonly string[], { program, ports, terminal }: Context): Promise<number> {
  const { clock } = ports
  const stop = new AbortController()
  const { signal } = stop
  const stamp = () => stampOf(program, ports)
  const begin = () => {
    const begun = run(words, ports)
    void begun.ended.then(code => {
      if (begun.wasAsked) return
      terminal.err(
        `svc: the process has ended with exit code ${code}; it restarts when the code changes (Ctrl-C quits)`,
      )
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
    // Waits until the files stop changing.
    for (let now = await stamp(); now !== seen && !signal.aborted; now = await stamp()) {
      seen = now
      await clock.sleep(LOOK_MS, signal)
    }
    if (seen === before || signal.aborted) continue
    terminal.err('svc: the code has changed: restarting')
    running.end('SIGTERM')
    await running.ended
    if (!signal.aborted) running = begin()
  }
  return running.ended
}

interface Running {
  /** Resolves with the exit code. */
  ended: Promise<number>
  /** Whether the operator ended the process. */
  wasAsked: boolean
  end(signal: NodeJS.Signals): void
}

function run(words: readonly string[], ports: Context['ports']): Running {
  const argv = [...process.execArgv, process.argv[1]!, ...words]
  // In a separate process group: otherwise the terminal's Ctrl-C would arrive twice, and the second one kills the
  // process.
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

/** Returns the modification times of the files that a process loads only at startup, which change with the code. */
async function stampOf({ packageRoot, checkout }: CliProgram, { files }: Ports): Promise<string> {
  const isBuilt = !process.argv[1]!.endsWith('.ts')
  const built = isBuilt ? ['svc.js', 'commands.json'].map(name => join(packageRoot, 'dist', name)) : []
  const { sourcesOfStart } = await checkout()
  const names = [...built, ...(await sourcesOfStart(packageRoot, files, isBuilt))]
  const times = await Promise.all(
    names.map(name =>
      files.stat(name).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      ),
    ),
  )
  return `${names.length} ${times.reduce((sum, time) => sum + time, 0)}`
}
