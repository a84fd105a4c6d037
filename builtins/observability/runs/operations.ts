import { AgentNotFoundError, AgentRef, AmbiguousAgentError } from '#core/agents/contract'
import { operation, z } from '#kernel'
import { DatedPage } from '#platform/store/contract'
import { RUN_STATUSES, Run, RunDetail, RunNotFoundError, RunRef, Trace } from './contract.ts'
import { OwnRecorder } from './recorder.ts'
import { renderRun, renderRuns, renderTrace } from './render.ts'
import { OwnRuns } from './runs.ts'
import { TraceQuery, traceOf } from './traces/tracing.ts'

export const runsList = operation({
  name: 'runs.list',
  summary: 'List runs, newest first',
  description: 'A run lasts from the start to the stop of the daemon, or is a one-shot task.',
  input: DatedPage.extend({
    kind: z.enum(['daemon', 'task']).optional().describe('Only runs of this kind'),
    status: z.enum(RUN_STATUSES).optional().describe('Only runs with this status'),
    agent: AgentRef.optional().describe('Only runs in which this agent was active'),
  }),
  output: z.array(Run),
  http: { method: 'GET', path: '/runs' },
  cli: { usage: 'runs', short: { limit: 'n' } },
  mcp: true,
  errors: [AgentNotFoundError, AmbiguousAgentError],
  run: ({ limit, offset, order, ...wanted }, { svc }) => svc.use(OwnRuns).list(wanted, { limit, offset, order }),
  count: ({ limit: _, offset: __, order: ___, ...wanted }, { svc }) => svc.use(OwnRuns).count(wanted),
  render: renderRuns,
})

export const runsGet = operation({
  name: 'runs.get',
  summary: 'Show a run',
  description: 'Shows when the run began and ended, and its version, model and agents.',
  input: z.object({ id: RunRef }),
  output: RunDetail,
  http: { method: 'GET', path: '/runs/{id}' },
  cli: { usage: 'runs <id>' },
  mcp: true,
  errors: [RunNotFoundError],
  run: ({ id }, { svc }) => svc.use(OwnRuns).detail(id),
  render: renderRun,
})

export const runsTrace = operation({
  name: 'runs.trace',
  summary: "Show a run's trace as a tree of spans",
  description:
    'A long run is returned in parts. To read it from the beginning, set `after` to `next_after` of the last answer. To read it from the end, set `newest` first, and then `before` to `next_before` of the last answer.',
  input: TraceQuery,
  output: Trace,
  http: { method: 'GET', path: '/runs/{run_id}/trace' },
  cli: { usage: 'trace <run_id>', short: { limit: 'n' } },
  mcp: true,
  errors: [RunNotFoundError, AmbiguousAgentError],
  run: (query, { svc, signal }) => traceOf(svc, svc.use(OwnRuns), svc.use(OwnRecorder), query, signal),
  render: renderTrace,
})

export const runOperations = [runsList, runsGet, runsTrace]
