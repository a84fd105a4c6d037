import { join, resolve } from 'node:path'
import type { Project } from '#kernel'

/** Returns the paths of the project at `root`. */
export function projectAt(root: string): Project {
  const at = resolve(root)
  const svc = join(at, '.svc')
  return {
    root: at,
    svc,
    config: join(svc, 'config.yaml'),
    database: join(svc, 'svc.db'),
    workspaces: join(svc, 'workspaces'),
    plugins: [join(at, 'plugins'), join(svc, 'plugins')],
  }
}
