/** Contract of snapshots: what agents changed in the folders that the operator gave them. */
import { AgentRef } from '#core/agents/contract'
import { defineError, z } from '#kernel'
import { ChangedFile } from '#lib/changed-files'

/** What one goal or task changed in one folder. */
export const FolderChange = z
  .object({
    change_id: z.string().meta({ examples: ['change-1a2b3c4d'] }),
    agent_id: z.string().meta({ examples: ['coder-1a2b3c4d'] }),
    goal_id: z.string().nullable(),
    task_id: z.string().nullable(),
    subject: z.string().describe('Objective of the goal, or instruction of the task'),
    folder: z.string().meta({ examples: ['/home/ada/project'] }),
    began_at: z.iso.datetime().describe('Time of the snapshot before the first call that could change files'),
    ended_at: z.iso
      .datetime()
      .nullable()
      .describe('Time of the snapshot after the last one; null while the work goes on'),
    undone_at: z.iso.datetime().nullable(),
    files: z.int().nullable().describe('Number of changed files; null while the work goes on'),
    problem: z.string().nullable().describe('Why there is no snapshot'),
  })
  .meta({ id: 'FolderChange' })
export type FolderChange = z.infer<typeof FolderChange>

export const FolderChangeDetail = FolderChange.extend({
  changed: z.array(ChangedFile),
  patch: z.string().describe('Patch with the changes line by line, as git prints it'),
  truncated: z.boolean().describe('Whether the end of `patch` was cut off'),
}).meta({ id: 'FolderChangeDetail' })
export type FolderChangeDetail = z.infer<typeof FolderChangeDetail>

export const WhichChange = z.object({
  id: AgentRef,
  change: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .meta({ examples: ['change-1a2b3c4d'] })
    .describe('Id of the change, or of its goal or task (default: the newest)'),
})

export const ChangesUndone = z
  .object({
    agent_id: z.string(),
    change_id: z.string(),
    folder: z.string(),
    files: z.array(z.string()),
    redone: z.boolean().describe('Whether an earlier undo was taken back'),
  })
  .describe('The changes of a goal or task in a folder were undone, or made again')
export type ChangesUndone = z.infer<typeof ChangesUndone>

export const ChangesRecorded = z
  .object({
    agent_id: z.string(),
    change_id: z.string(),
    goal_id: z.string().nullable(),
    task_id: z.string().nullable(),
    folder: z.string(),
    files: z.int().nullable().describe('Number of changed files; null without a snapshot'),
  })
  .describe('A goal or task has ended that changed files in a folder of the operator')

declare module '#kernel' {
  interface Events {
    changes_recorded: z.infer<typeof ChangesRecorded>
    changes_undone: ChangesUndone
  }
}

/** The agent has no such change; list its changes with: svc changes list <agent> */
export const ChangeNotFoundError = defineError({
  code: 'change_not_found',
  status: 404,
  title: 'Change not found',
  message: (p: { agent_id: string; change?: string | undefined }) =>
    p.change === undefined
      ? `${p.agent_id} changed nothing in folders that you gave it.`
      : `${p.agent_id} has no change "${p.change}"; list its changes with: svc changes list ${p.agent_id}`,
})
/** The change cannot be undone or made again: there is no snapshot, or it is already so. */
export const NotUndoableError = defineError({
  code: 'not_undoable',
  status: 409,
  title: 'Cannot be undone',
  message: (p: { change_id: string; problem: string }) => `${p.change_id} ${p.problem}.`,
})
export const UndoConflictError = defineError({
  code: 'undo_conflict',
  status: 409,
  title: 'Files changed since',
  message: (p: { agent_id: string; change_id: string; folder: string; files: string[] }) =>
    `No file was changed: these lines, or lines beside them, changed since in ${p.files.slice(0, 5).join(', ')}${p.files.length > 5 ? ` and ${p.files.length - 5} more` : ''} of ${p.folder}. Undo later changes first, or edit the files by hand: svc changes show ${p.agent_id} --change ${p.change_id}`,
})
export const SnapshotFailedError = defineError({
  code: 'snapshot_failed',
  status: 409,
  title: 'Snapshot failed',
  message: (p: { folder: string; problem: string }) =>
    `No snapshot of ${p.folder}: ${p.problem.replace(/[.\s]*$/, '')}.`,
})
