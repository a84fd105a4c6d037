import { defineError, z } from '#kernel'

/** Result of writing a report. */
export const ExportedRun = z.object({
  run_id: z.string(),
  file: z.string().describe('Absolute path of the report'),
  bytes: z.int(),
  spans: z.int().describe('Agents, goals, decisions and tool calls in the report'),
  left_out: z.int().describe('Decisions and tool calls of the run that are not in the report'),
})
export type ExportedRun = z.infer<typeof ExportedRun>

export const ExportExistsError = defineError({
  code: 'export_exists',
  status: 409,
  title: 'Export exists',
  message: (p: { file: string }) =>
    `${p.file} exists already and was not changed; choose another file with --output, or replace it with --force.`,
})
export const CannotExportError = defineError({
  code: 'cannot_export',
  status: 500,
  title: 'Cannot export',
  message: (p: { file: string; problem: string }) => `The report cannot be written to ${p.file}: ${p.problem}.`,
})
