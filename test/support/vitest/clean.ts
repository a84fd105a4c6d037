import { readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Removes folders of test processes that were ended by a signal, after all tests. */
export default function setup(): () => Promise<void> {
  return async () => {
    for (const name of await readdir(tmpdir())) {
      const [, pid] = /^svc-test-config-(\d+)$/.exec(name) ?? []
      if (pid && !isRunning(Number(pid))) await rm(join(tmpdir(), name), { recursive: true, force: true })
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
