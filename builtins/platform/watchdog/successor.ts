import type { Ports } from '#kernel'
import type { Watch } from './shared.ts'

/** Waits on a pipe without writers, which closes with the process at its other end, and then becomes the command. */
const WAIT = 'cat >/dev/null; exec "$@"'

/**
 * Starts the process that takes the place of this one as soon as it is gone: no sooner, since there are locks and ports
 * that only one can hold. @throws when it cannot be started
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
