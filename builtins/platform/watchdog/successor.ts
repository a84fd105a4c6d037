import type { Ports } from '#kernel'
import type { Watch } from './shared.ts'

/** Shell script that runs the command once this process has ended: `cat` waits until the pipe closes. */
const WAIT = 'cat >/dev/null; exec "$@"'

/**
 * Starts a process that runs the command when this one has ended, and no sooner, because locks and ports can only be
 * held by one. @throws when it cannot be started
 */
export function startSuccessor({ spawn }: Pick<Ports, 'spawn'>, watch: Pick<Watch, 'command' | 'echo'>): Promise<void> {
  const child = spawn('/bin/sh', ['-c', WAIT, 'svc', ...watch.command], {
    stdio: ['pipe', watch.echo ? 'inherit' : 'ignore', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    child.once('spawn', () => resolve())
    child.once('error', reject)
  })
}
