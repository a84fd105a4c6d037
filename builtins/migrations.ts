import { MIGRATIONS as agents } from './core/agents/migrations.ts'
import { MIGRATIONS as goals } from './core/goals/migrations.ts'
import { MIGRATIONS as images } from './core/images/migrations.ts'
import { MIGRATIONS as models } from './core/models/migrations.ts'
import { MIGRATIONS as runtime } from './core/runtime/migrations.ts'
import { MIGRATIONS as sessions } from './core/sessions/migrations.ts'
import { MIGRATIONS as snapshots } from './core/snapshots/migrations.ts'
import { MIGRATIONS as subAgents } from './core/sub-agents/migrations.ts'
import { MIGRATIONS as tasks } from './core/tasks/migrations.ts'
import { MIGRATIONS as worktrees } from './core/worktrees/migrations.ts'
import { MIGRATIONS as rest } from './interfaces/rest/migrations.ts'
import { MIGRATIONS as runs } from './observability/runs/migrations.ts'
import { MIGRATIONS as schedules } from './platform/schedules/migrations.ts'
import { MIGRATIONS as store } from './platform/store/migrations.ts'
import { MIGRATIONS as approvals } from './safety/approvals/migrations.ts'
import { MIGRATIONS as budget } from './safety/budget/migrations.ts'
import { MIGRATIONS as questions } from './safety/questions/migrations.ts'
import { MIGRATIONS as a2a } from './society/a2a/migrations.ts'
import { MIGRATIONS as delegation } from './society/delegation/migrations.ts'
import { MIGRATIONS as economy } from './society/economy/migrations.ts'
import { MIGRATIONS as identity } from './society/identity/migrations.ts'
import { MIGRATIONS as patterns } from './society/patterns/migrations.ts'
import { MIGRATIONS as suffering } from './society/suffering/migrations.ts'
import { MIGRATIONS as swarm } from './society/swarm/migrations.ts'
import { MIGRATIONS as taskToolkit } from './tools/toolkits/task/migrations.ts'

/** The schema's steps in order. A step is never edited once it has been released; what changes is added at the end. */
export const STEPS = [
  '001-first',
  '002-cascading-deletes',
  '003-durable-agents',
  '004-tasks',
  '005-approvals',
  '006-budget',
  '008-runs',
  '010-a2a',
  '011-schedules',
  '012-sub-agents',
  '013-suffering',
  '014-identity',
  '015-economy',
  '016-society',
  '017-structured-tasks',
  '018-totals',
  '019-rest',
  '020-run-settings',
  '021-fewer-pages',
  '022-reservations',
  '023-neighbours',
  '024-given-roles',
  '025-budget-prices',
  '026-ended-transcripts',
  '027-agent-limits',
  '028-idempotency-keys',
  '029-removed-sub-agents',
  '032-task-parameters',
  '033-images',
  '034-transcript-epochs',
  '036-restored-transcripts',
  '038-given-folders',
  '041-questions',
  '042-acceptance',
  '043-plans',
  '044-learned-models',
  '046-views',
  '047-goal-totals',
  '049-fewer-writes',
  '051-worktrees',
  '053-schedule-acceptance',
  '055-task-questions',
  '057-spend-calls',
  '058-goal-messages',
  '059-task-toolkits',
  '060-background-ends',
  '061-folder-changes',
  '062-cancelled-tasks',
  '063-goals-by-end',
  '064-active-transcripts',
  '065-calls-of-spend',
  '066-agents-index',
]

/** Each module's part of the steps, in the order within a step. Leases take the cycles of agents over before agents drop them. */
export const OWNERS: Record<string, Record<string, string>> = {
  'platform/store': store,
  'core/agents': agents,
  'safety/questions': questions,
  'core/goals': goals,
  'core/runtime': runtime,
  'core/sub-agents': subAgents,
  'core/sessions': sessions,
  'core/tasks': tasks,
  'core/images': images,
  'core/worktrees': worktrees,
  'core/snapshots': snapshots,
  'core/models': models,
  'platform/schedules': schedules,
  'tools/toolkits/task': taskToolkit,
  'safety/budget': budget,
  'safety/approvals': approvals,
  'observability/runs': runs,
  'interfaces/rest': rest,
  'society/a2a': a2a,
  'society/delegation': delegation,
  'society/patterns': patterns,
  'society/suffering': suffering,
  'society/identity': identity,
  'society/economy': economy,
  'society/swarm': swarm,
}

export interface Migration {
  name: string
  sql: string
}

/**
 * The schema of all builtins, whichever of them are enabled. Times are integer milliseconds, money is integer micro-dollars, ids
 * are text.
 */
export const MIGRATIONS: readonly Migration[] = STEPS.map(name => ({
  name,
  sql: Object.values(OWNERS)
    .flatMap(owner => owner[name] ?? [])
    .join('\n'),
}))
