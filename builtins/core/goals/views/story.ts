import { lineOf } from '#core/memory/contract'
import { Message } from '#core/models/contract'
import { operation, type PluginHandle, z } from '#kernel'
import { idSchema } from '#lib/id-schema'
import { Page } from '#lib/list'
import { writerOf } from '#lib/transcript-text'
import { isoTime, Store } from '#platform/store/contract'
import { GoalNotFoundError } from '../contract.ts'
import { findGoal, goalCalls, goalMessages, numberOfCalls } from '../repository.ts'

/** Maximum length of a tool's arguments and result, in characters; the transcript has all of it. */
const SHOWN = 4_000
/** Maximum length of the arguments of a call in one line of output, in characters. */
const LINE_CHARS = 200

const goal_id = idSchema("A goal's id", 'goal-9c8b7a6d5e4f')
const Said = Message.extend({ at: z.iso.datetime() }).meta({ id: 'SaidMessage' })
const ToolCall = z
  .object({
    call_id: z.string(),
    step: z.int().describe('Number of the answer with this call among the answers with calls, from 1'),
    tool: z.string(),
    arguments: z.string().describe(`JSON, cut after ${SHOWN} characters`),
    state: z
      .string()
      .describe(
        '`planned`: the call waits; `started`: the call runs, or its outcome is unknown; `done`: the call has ended',
      ),
    ok: z.boolean().nullable(),
    output: z.string().nullable().describe(`Output as the model read it, cut after ${SHOWN} characters`),
    approval_id: z.string().nullable(),
    started_at: z.iso.datetime(),
    ended_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'ToolCall' })

async function ensureKnown(svc: PluginHandle, goal_id: string) {
  if (!(await findGoal(svc.use(Store), goal_id))) throw new GoalNotFoundError({ ref: goal_id })
}

export const goalsTranscript = operation({
  name: 'goals.transcript',
  summary: "Show a goal's transcript, oldest first",
  description: 'The transcript of a goal that has ended is kept until retention removes it.',
  input: z.object({ goal_id }),
  output: z.array(Said),
  http: { method: 'GET', path: '/goals/{goal_id}/transcript' },
  cli: { usage: 'goals transcript <goal_id>' },
  mcp: true,
  errors: [GoalNotFoundError],
  async run({ goal_id }, { svc }) {
    const rows = await goalMessages(svc.use(Store), goal_id)
    if (rows.length === 0) await ensureKnown(svc, goal_id)
    return rows.map(({ message, created_at }) => ({
      ...Message.parse(JSON.parse(message)),
      at: isoTime(created_at),
    }))
  },
  render: messages =>
    messages
      .map(message => {
        const { content, tool_calls = [] } = message
        const calls = tool_calls.map(
          ({ name, arguments: args }) =>
            `→ ${name} ${lineOf(typeof args === 'string' ? args : JSON.stringify(args), LINE_CHARS)}`,
        )
        const text = [content && lineOf(content, 500), ...calls].filter(Boolean).join(' ')
        return `${writerOf(message)}: ${text}`
      })
      .join('\n') || 'there are no messages',
})

export const goalsCalls = operation({
  name: 'goals.calls',
  summary: "List a goal's tool calls, newest first",
  description: 'Returns each call with its arguments, outcome, start and end.',
  input: Page.extend({ goal_id }),
  output: z.array(ToolCall),
  http: { method: 'GET', path: '/goals/{goal_id}/calls' },
  cli: { usage: 'goals calls <goal_id>', short: { limit: 'n' } },
  mcp: true,
  errors: [GoalNotFoundError],
  async run({ goal_id, limit, offset }, { svc }) {
    await ensureKnown(svc, goal_id)
    const rows = await goalCalls(svc.use(Store), goal_id, SHOWN, limit ?? -1, offset)
    return rows.map(({ is_error, started_at, ended_at, ...row }) => ({
      ...row,
      ok: is_error === null ? null : is_error === 0,
      started_at: isoTime(started_at),
      ended_at: isoTime(ended_at),
    }))
  },
  count: ({ goal_id }, { svc }) => numberOfCalls(svc.use(Store), goal_id),
  render: calls =>
    calls
      .map(
        ({ step, tool, arguments: args, ok, output }) =>
          `${step}  ${ok === null ? '…' : ok ? '✓' : '✗'} ${tool} ${lineOf(args, LINE_CHARS)}  ${lineOf(output ?? '', 200)}`,
      )
      .join('\n') || 'no tool was called',
})

/** Operations that show a pursuit: its conversation and its tool calls. */
export const storyOperations = [goalsTranscript, goalsCalls]
