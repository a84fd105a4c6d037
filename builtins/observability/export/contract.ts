import { defineError, z } from '#kernel'

/** Result of writing a report. */
export const ExportedRun = z.object({
  run_id: z.string(),
  file: z.string().describe('Where it is, as a whole path'),
  bytes: z.number().int(),
  spans: z.number().int().describe('Agents, goals, decisions and tool calls that it shows'),
  left_out: z.number().int().describe('Decisions and tool calls of the run that it does not show'),
})
export type ExportedRun = z.infer<typeof ExportedRun>

export const ExportExistsError = defineError({
  code: 'export_exists',
  status: 409,
  title: 'Export exists',
  message: (p: { file: string }) =>
    `${p.file} exists and was left as it is; name another file with --output, or replace it with --force.`,
})
export const CannotExportError = defineError({
  code: 'cannot_export',
  status: 500,
  title: 'Cannot export',
  message: (p: { file: string; problem: string }) => `The report cannot be written to ${p.file}: ${p.problem}.`,
})
