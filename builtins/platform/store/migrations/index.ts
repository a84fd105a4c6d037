import { first } from './001-first.ts'
import { cascades } from './002-cascading-deletes.ts'
import { durable } from './003-durable-agents.ts'
import { tasks } from './004-tasks.ts'
import { approvals } from './005-approvals.ts'
import { budget } from './006-budget.ts'
import { runs } from './008-runs.ts'
import { a2a } from './010-a2a.ts'
import { schedules } from './011-schedules.ts'
import { subAgents } from './012-sub-agents.ts'
import { suffering } from './013-suffering.ts'
import { identity } from './014-identity.ts'
import { economy } from './015-economy.ts'
import { society } from './016-society.ts'
import { structuredTasks } from './017-structured-tasks.ts'
import { totals } from './018-totals.ts'
import { rest } from './019-rest.ts'
import { runSettings } from './020-run-settings.ts'
import { fewerPages } from './021-fewer-pages.ts'
import { reservations } from './022-reservations.ts'
import { neighbours } from './023-neighbours.ts'
import { givenRoles } from './024-given-roles.ts'
import { budgetPrices } from './025-budget-prices.ts'
import { endedTranscripts } from './026-ended-transcripts.ts'
import { agentLimits } from './027-agent-limits.ts'
import { idempotencyKeys } from './028-idempotency-keys.ts'
import { removedSubAgents } from './029-removed-sub-agents.ts'
import { taskParameters } from './032-task-parameters.ts'
import { images } from './033-images.ts'
import { transcriptEpochs } from './034-transcript-epochs.ts'
import { restoredTranscripts } from './036-restored-transcripts.ts'
import { givenFolders } from './038-given-folders.ts'
import { questions } from './041-questions.ts'
import { acceptance } from './042-acceptance.ts'
import { plans } from './043-plans.ts'

/** `svc1` in ASCII: tells our files from another program's. */
export const APPLICATION_ID = 0x73766331

/**
 * The schema, as one ordered list. A step is never edited once it has been released; what changes is added at the end.
 * Times are integer milliseconds, money is integer micro-dollars, ids are text.
 */
export interface Migration {
  name: string
  sql: string
}

export const MIGRATIONS: readonly Migration[] = [
  { name: '001-first', sql: first },
  { name: '002-cascading-deletes', sql: cascades },
  { name: '003-durable-agents', sql: durable },
  { name: '004-tasks', sql: tasks },
  { name: '005-approvals', sql: approvals },
  { name: '006-budget', sql: budget },
  { name: '008-runs', sql: runs },
  { name: '010-a2a', sql: a2a },
  { name: '011-schedules', sql: schedules },
  { name: '012-sub-agents', sql: subAgents },
  { name: '013-suffering', sql: suffering },
  { name: '014-identity', sql: identity },
  { name: '015-economy', sql: economy },
  { name: '016-society', sql: society },
  { name: '017-structured-tasks', sql: structuredTasks },
  { name: '018-totals', sql: totals },
  { name: '019-rest', sql: rest },
  { name: '020-run-settings', sql: runSettings },
  { name: '021-fewer-pages', sql: fewerPages },
  { name: '022-reservations', sql: reservations },
  { name: '023-neighbours', sql: neighbours },
  { name: '024-given-roles', sql: givenRoles },
  { name: '025-budget-prices', sql: budgetPrices },
  { name: '026-ended-transcripts', sql: endedTranscripts },
  { name: '027-agent-limits', sql: agentLimits },
  { name: '028-idempotency-keys', sql: idempotencyKeys },
  { name: '029-removed-sub-agents', sql: removedSubAgents },
  { name: '032-task-parameters', sql: taskParameters },
  { name: '033-images', sql: images },
  { name: '034-transcript-epochs', sql: transcriptEpochs },
  { name: '036-restored-transcripts', sql: restoredTranscripts },
  { name: '038-given-folders', sql: givenFolders },
  { name: '041-questions', sql: questions },
  { name: '042-acceptance', sql: acceptance },
  { name: '043-plans', sql: plans },
]
