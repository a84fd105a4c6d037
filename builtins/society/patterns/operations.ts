import { AgentDeadError, AgentNotFoundError, AgentRef, AmbiguousAgentError } from '#core/agents/contract'
import { operation, z } from '#kernel'
import { formatCount } from '#lib/format-count'
import { idSchema } from '#lib/id-schema'
import { Page } from '#lib/list'
import { pluralize } from '#lib/pluralize'
import { formatUsd } from '#lib/usd'
import { Store } from '#platform/store/contract'
import { A2AMessage } from '#society/a2a/contract'
import {
  CollaborationPatterns,
  PatternNotFoundError,
  PatternParticipantsError,
  PatternRun,
  PatternRunNotFoundError,
  TooManyPatternsError,
} from './contract.ts'
import { countRuns, listRuns, messagesOf } from './repository.ts'
import { OwnPatterns } from './runner.ts'

const ref = AgentRef
const pattern_id = idSchema('Id of a pattern run', 'pat-1a2b3c4d')

const names = z
  .array(ref)
  .min(1)
  .max(50)
  .meta({ examples: [['writer']] })

/** Input common to the start of every pattern. */
const Start = {
  participants: z
    .union(
      [
        names,
        z
          .string()
          .transform(list => list.split(',').map(each => each.trim()))
          .pipe(names),
      ],
      { error: 'must be a list of agents' },
    )
    .describe('Agents by id or name; separated by commas on the command line'),
  task: z
    .string()
    .trim()
    .min(1)
    .max(8_000)
    .meta({ examples: ['Is the parser ready?'] })
    .describe('The work, question, claim or task that the pattern is about'),
  rounds: z.int().min(1).max(10).optional().describe("Maximum number of rounds (default: the pattern's own)"),
  budget_usd: z.number().min(0).max(1e6).optional().describe('Maximum cost in dollars (default: patterns.budget_usd)'),
  budget_tokens: z
    .int()
    .min(0)
    .max(1e12)
    .optional()
    .describe('Maximum number of tokens (default: patterns.budget_tokens)'),
}

export const patternsList = operation({
  name: 'patterns.list',
  summary: 'List collaboration patterns',
  description: 'A pattern is a way for several agents to work together, such as review or debate.',
  input: z.object({}),
  output: z.array(
    z.object({ name: z.string(), summary: z.string(), min: z.number(), max: z.number(), rounds: z.number() }),
  ),
  http: { method: 'GET', path: '/patterns' },
  cli: { usage: 'patterns' },
  mcp: true,
  run: (_, { svc }) =>
    svc.list(CollaborationPatterns).map(({ name, summary, participants, rounds }) => ({
      name,
      summary,
      ...participants,
      rounds: rounds.usual,
    })),
})

export const patternsStart = operation({
  name: 'patterns.start',
  summary: 'Start a collaboration pattern',
  description: 'Starts a run, which continues with each answer of the agents until the pattern ends.',
  input: z.strictObject({
    name: z
      .string()
      .min(1)
      .max(64)
      .meta({ examples: ['review'] })
      .describe('Name of a pattern, as listed by svc patterns'),
    initiator: ref.describe('Agent on whose behalf the pattern runs'),
    ...Start,
    timeout: z.number().min(1).max(2_592_000).optional().describe('Time limit in seconds (default: patterns.timeout)'),
  }),
  output: PatternRun,
  http: {
    method: 'POST',
    path: '/patterns/{name}',
    status: 201,
    idempotent: true,
    location: (run: PatternRun) => `/pattern-runs/${run.pattern_id}`,
  },
  cli: { usage: 'patterns start <name> <initiator> <participants> <task...>' },
  mcp: true,
  errors: [
    AgentNotFoundError,
    AmbiguousAgentError,
    AgentDeadError,
    PatternNotFoundError,
    PatternParticipantsError,
    TooManyPatternsError,
  ],
  async run(start, { svc, effects: also = [] }) {
    const { pattern_id: id, effects } = await svc.use(OwnPatterns).begin(start)
    await svc.use(Store).apply([...effects, ...also])
    return svc.use(OwnPatterns).findRun(id)
  },
})

export const patternsRuns = operation({
  name: 'patterns.runs',
  summary: 'List pattern runs, newest first',
  description: 'Lists active runs and runs that have ended.',
  input: Page,
  output: z.array(PatternRun),
  http: { method: 'GET', path: '/pattern-runs' },
  cli: { usage: 'patterns runs', short: { limit: 'n' } },
  mcp: true,
  async run({ limit, offset }, { svc }) {
    const rows = await listRuns(svc.use(Store), limit ?? -1, offset)
    return Promise.all(rows.map(row => svc.use(OwnPatterns).toRun(row)))
  },
  count: (_, { svc }) => countRuns(svc.use(Store)),
  render: runs => runs.map(describePattern).join('\n') || 'no pattern runs yet; list the patterns with: svc patterns',
})

export const patternsGet = operation({
  name: 'patterns.get',
  summary: "Show a pattern run's progress and result",
  description: 'Includes its participants, rounds, cost and result.',
  input: z.object({ pattern_id }),
  output: PatternRun,
  http: { method: 'GET', path: '/pattern-runs/{pattern_id}' },
  cli: { usage: 'patterns show <pattern_id>' },
  mcp: true,
  errors: [PatternRunNotFoundError],
  run: ({ pattern_id: id }, { svc }) => svc.use(OwnPatterns).findRun(id),
})

export const patternsMessages = operation({
  name: 'patterns.messages',
  summary: 'List the messages of a pattern run, oldest first',
  description: 'Lists the messages that the participants sent to each other.',
  input: z.object({ pattern_id }),
  output: z.array(
    A2AMessage.omit({ thread_id: true, priority: true, expects_reply: true, read: true, metadata: true }),
  ),
  http: { method: 'GET', path: '/pattern-runs/{pattern_id}/messages' },
  errors: [PatternRunNotFoundError],
  async run({ pattern_id: id }, { svc }) {
    await svc.use(OwnPatterns).findRun(id)
    return messagesOf(svc.use(Store), id)
  },
})

export const patternsCancel = operation({
  name: 'patterns.cancel',
  summary: 'Cancel a pattern run',
  description: 'Ends the run, withdraws its unread messages and abandons its open goals.',
  input: z.object({ pattern_id }),
  output: PatternRun,
  http: { method: 'POST', path: '/pattern-runs/{pattern_id}/cancel' },
  cli: { usage: 'patterns cancel <pattern_id>' },
  mcp: true,
  errors: [PatternRunNotFoundError],
  async run({ pattern_id: id }, { svc }) {
    await svc.use(OwnPatterns).cancel(id)
    return svc.use(OwnPatterns).findRun(id)
  },
})

export const patternOperations = [
  patternsList,
  patternsStart,
  patternsRuns,
  patternsGet,
  patternsMessages,
  patternsCancel,
]

/** Formats a run for a list, without its result. */
function describePattern({
  pattern_id,
  name,
  status,
  initiator,
  participants,
  messages,
  spent,
  task,
}: PatternRun): string {
  const who = `${initiator} with ${participants.join(', ')}`
  const head = `${pattern_id}  ${name}  ${status}  ${pluralize(messages, 'message')}  ${formatUsd(spent.usd)}, ${formatCount(spent.tokens)} tokens`
  return `${head}\n    ${who}\n    ${task.replaceAll(/\s+/g, ' ')}`
}
