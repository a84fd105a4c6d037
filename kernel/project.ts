import type { Undo } from './scope.ts'

export const ROLES = ['daemon', 'joined', 'server', 'mcp', 'cli'] as const
/** What a process is for. One process may have several roles; `joined` is a daemon that may run beside the project's own. */
export type Role = (typeof ROLES)[number]

/** What a plugin holds as long as it is live, in processes of these roles. */
export interface Resource {
  start: (signal: AbortSignal) => Promise<Undo | void> | Undo | void
  in: readonly Role[]
}

/** Where things lie in the project. */
export interface Project {
  /** The folder that holds `.svc/`, `plugins/` and `profiles/`. */
  readonly root: string
  readonly svc: string
  readonly config: string
  readonly database: string
  readonly workspaces: string
  readonly plugins: readonly string[]
}
