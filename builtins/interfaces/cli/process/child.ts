import { SvcError } from '#kernel'
import { isTrusted } from '#lib/trust'
import type { Context } from '../context.ts'
import { hasPlugins, SPAWNED } from '../project/trust.ts'

/** Time limit of a child, in milliseconds. Its own watchdog normally ends it before. */
const LIMIT_MS = 60_000

/** Returns whether this process was started as a child by another command. */
export function isChild({ ports }: Pick<Context, 'ports'>): boolean {
  return ports.env[SPAWNED] === '1'
}

/** Returns whether the project has plugin code that may run; then a child process runs it. */
export async function runsPlugins(root: string, context: Pick<Context, 'ports'>): Promise<boolean> {
  const { ports } = context
  return !isChild(context) && (await hasPlugins(ports, root)) && (await isTrusted(root, ports))
}

/**
 * Runs a command in a child process, so that a plugin that hangs or exits ends only the child.
 * @returns its exit code, its standard output, and the lines of its standard error
 * @throws SvcError with the plugin's file and what it did, when the child was killed or ended without output
 */
export async function runInChild(
  root: string,
  words: readonly string[],
  { ports }: Pick<Context, 'ports'>,
): Promise<{ code: number; stdout: string; errors: string[] }> {
  const argv = [...process.execArgv, process.argv[1]!, '--root', root, ...words]
  const child = ports.spawn(process.execPath, argv, {
    env: { ...ports.env, [SPAWNED]: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]!.setEncoding('utf8').on('data', text => {
      output[name] += text
    })
  }
  const cancel = ports.clock.after(LIMIT_MS, () => child.kill('SIGKILL'))
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  }).finally(cancel)
  const lines = output.stderr.split('\n').filter(line => line !== '')
  const held = lines.map(readBlockReport).find(each => each !== undefined)
  // Every command prints something, so a child without output did not end normally.
  if (code === null || (output.stdout === '' && lines.length === 0)) {
    const problem = held ?? `The plugins of ${root} ended the process, or did not end within ${LIMIT_MS / 1000} s.`
    throw new SvcError(problem, { code: 'plugin_error', status: 409, title: 'Plugin error' })
  }
  return { code, stdout: output.stdout, errors: lines }
}

/** Parses the report of a child's watchdog about a plugin; undefined for other lines. */
function readBlockReport(line: string): string | undefined {
  try {
    const { plugin, msg } = JSON.parse(line) as { plugin?: string; msg?: string }
    return plugin === undefined || msg === undefined ? undefined : `${msg[0]!.toUpperCase()}${msg.slice(1)}.`
  } catch {
    return undefined
  }
}
