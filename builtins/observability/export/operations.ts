import { resolve } from 'node:path'
import { operation, z } from '#kernel'
import { pluralize } from '#lib/pluralize'
import { RunNotFoundError, RunRef } from '#observability/runs/contract'
import { CannotExportError, ExportExistsError, ExportedRun } from './contract.ts'
import { gather } from './gather.ts'
import { POLICY, pageOf } from './page.ts'
import { checkTarget, writePieces } from './write.ts'

const limit = z.int().min(1).max(10_000).default(2_000).describe('Maximum number of events, newest first (1 to 10000)')

/** Returns the default name of a report. */
const nameOf = (run_id: string) => `svc-report-${run_id}.html`

export const runsExport = operation({
  name: 'runs.export',
  summary: 'Export a run as one HTML page',
  description:
    'The page has the summary, timeline, cost, steps, transcripts and messages of the run. It is self-contained: it has no scripts and loads nothing. Values of secrets are hidden. For a long run, it has only the newest part.',
  input: z.object({ id: RunRef, limit }),
  output: z.string().meta({ examples: ['<!doctype html>\n<html lang="en">…</html>\n'] }),
  http: {
    method: 'GET',
    path: '/runs/{id}/export',
    produces: 'text/html; charset=utf-8',
    headers: ({ id }: { id: string }) => ({
      'content-disposition': `attachment; filename="${nameOf(id.replace(/[^\w-]/g, '_'))}"`,
      'content-security-policy': `${POLICY}; frame-ancestors 'none'`,
    }),
  },
  errors: [RunNotFoundError],
  async run({ id, limit }, { svc, signal }) {
    const report = await gather(svc, id, limit, signal)
    return [...pageOf(report)].join('')
  },
})

export const runsWriteExport = operation({
  name: 'runs.write_export',
  summary: 'Export a run to an HTML file',
  description:
    'The file has the summary, timeline, cost, steps, transcripts and messages of the run, without values of secrets. An existing file is kept unless --force is given.',
  input: z.object({
    run_id: RunRef,
    output: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe('File to write (default: svc-report-<run>.html in the current folder)'),
    force: z.boolean().default(false).describe('Replace an existing file'),
    limit,
  }),
  output: ExportedRun,
  cli: { usage: 'export <run_id>', short: { output: 'o', force: 'f', limit: 'n' } },
  errors: [RunNotFoundError, ExportExistsError, CannotExportError],
  async run({ run_id, output, force, limit }, { svc, via, signal }) {
    const file = resolve(via === 'cli' ? process.cwd() : svc.project.root, output ?? nameOf(run_id))
    const report = await gather(svc, run_id, limit, signal)
    await checkTarget(svc.ports.files, file, force)
    const bytes = await writePieces(svc.ports, file, pageOf(report), { force, signal })
    const { left_out, total_spans: spans } = report.trace
    return { run_id, file, bytes, spans, left_out }
  },
  render: ({ file, bytes, spans, left_out }) => {
    const more = left_out > 0 ? `; ${pluralize(left_out, 'call')} of models and tools left out` : ''
    return `${file}: ${spans} spans, ${Math.ceil(bytes / 1024)} KiB${more}`
  },
})

export const exportOperations = [runsExport, runsWriteExport]
