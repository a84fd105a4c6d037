import { dirname, join, resolve } from 'node:path'
import type { Ports } from '#kernel'
import { NoProjectError } from '../contract.ts'

/**
 * Returns the folder that holds `.svc/`: the named one (`--root`, else `SVC_ROOT`), or the nearest one at or above the
 * working directory.
 * @throws NoProjectError
 */
export async function findProject(ports: Pick<Ports, 'files' | 'env'>, named: string | undefined): Promise<string> {
  const given = named ?? ports.env.SVC_ROOT
  if (given) {
    const root = resolve(given)
    if (await isProject(ports, root)) return root
    throw new NoProjectError({ at: root, searched: 'there' })
  }
  const here = process.cwd()
  for (let root = here; ; root = dirname(root)) {
    if (await isProject(ports, root)) return root
    if (root === dirname(root)) throw new NoProjectError({ at: here, searched: 'upwards' })
  }
}

/** Returns whether a folder holds a project. */
export function isProject({ files }: Pick<Ports, 'files'>, root: string): Promise<boolean> {
  return files.stat(join(root, '.svc')).then(
    found => found.isDirectory(),
    () => false,
  )
}
