import { AgentNotFoundError, AgentRef, AmbiguousAgentError } from '#core/agents/contract'
import { operation, z } from '#kernel'
import { Page } from '#lib/list'
import {
  ChangeNotFoundError,
  ChangesUndone,
  FolderChange,
  FolderChangeDetail,
  NotUndoableError,
  SnapshotFailedError,
  UndoConflictError,
  WhichChange,
} from './contract.ts'
import { OwnFolderChanges } from './folder-changes.ts'
import { renderChange, renderChanges, renderUndone } from './render.ts'

const AGENT = [AgentNotFoundError, AmbiguousAgentError] as const
const FOUND = [...AGENT, ChangeNotFoundError, SnapshotFailedError] as const
const short = { change: 'c' }

export const snapshotsList = operation({
  name: 'snapshots.list',
  summary: 'List what goals and tasks changed in your folders',
  description:
    'Newest first. Snapshots are taken before the first call that could change a file, and at the end of the goal or task.',
  input: Page.extend({ id: AgentRef }),
  output: z.array(FolderChange),
  http: { method: 'GET', path: '/agents/{id}/changes' },
  cli: { usage: 'changes list <id>', short: { limit: 'n' } },
  mcp: true,
  errors: AGENT,
  run: async ({ id, limit, offset }, { svc }) =>
    (await svc.use(OwnFolderChanges).list(id)).slice(offset, limit === undefined ? undefined : offset + limit),
  count: async ({ id }, { svc }) => (await svc.use(OwnFolderChanges).list(id)).length,
  render: renderChanges,
})

export const snapshotsShow = operation({
  name: 'snapshots.show',
  summary: 'Show what a goal or task changed, line by line',
  description:
    'Compares the snapshots at its begin and end, or with the present files while it goes on. What you or others changed in that time is included.',
  input: WhichChange,
  output: FolderChangeDetail,
  http: { method: 'GET', path: '/agents/{id}/changes/patch' },
  cli: { usage: 'changes show <id>', short },
  mcp: true,
  errors: FOUND,
  run: ({ id, change }, { svc }) => svc.use(OwnFolderChanges).show(id, change),
  render: renderChange,
})

export const snapshotsUndo = operation({
  name: 'snapshots.undo',
  summary: 'Undo what a goal or task changed in your folder',
  description:
    'Gives the changed lines the text that they had before, in all files or, if one of these lines changed since, in none. Commits are not undone.',
  input: WhichChange,
  output: ChangesUndone,
  http: { method: 'POST', path: '/agents/{id}/changes/undo' },
  cli: { usage: 'changes undo <id>', short },
  mcp: true,
  errors: [...FOUND, NotUndoableError, UndoConflictError],
  run: ({ id, change }, { svc }) => svc.use(OwnFolderChanges).undo(id, change),
  render: renderUndone,
})

export const snapshotsRedo = operation({
  name: 'snapshots.redo',
  summary: 'Restore changes that were undone',
  description: 'Takes an undo back.',
  input: WhichChange,
  output: ChangesUndone,
  http: { method: 'POST', path: '/agents/{id}/changes/redo' },
  cli: { usage: 'changes redo <id>', short },
  mcp: true,
  errors: [...FOUND, NotUndoableError, UndoConflictError],
  run: ({ id, change }, { svc }) => svc.use(OwnFolderChanges).redo(id, change),
  render: renderUndone,
})

export const snapshotOperations = [snapshotsList, snapshotsShow, snapshotsUndo, snapshotsRedo]
