import { AgentNotFoundError, AgentRef, Agents, AmbiguousAgentError } from '#core/agents/contract'
import { InvalidInputError, type OperationCall, operation, type PluginHandle, z } from '#kernel'
import { brief } from '#lib/brief'
import { describeEvent } from '#lib/event-text'
import { idAndName } from '#lib/id-and-name'
import { Page } from '#lib/list'
import { stream } from '#lib/stream'
import { EventEnvelope, Store } from '#platform/store/contract'
import { EventsGoneError, follow } from './follow.ts'
import { Notice, OwnNotices } from './notices.ts'
import { countEvents, latestEvents } from './repository.ts'
import { OwnTail } from './tail.ts'

const id = AgentRef
const type = z.array(z.string().min(1).max(64)).max(50).optional().describe('Only events of these types')
const seq = z.int().min(0).max(Number.MAX_SAFE_INTEGER)

/** Returns the agent id for a reference. Events of a deleted agent remain under its id. */
async function agentOf(svc: PluginHandle, ref: string): Promise<string> {
  try {
    return (await svc.use(Agents).find(ref)).agent_id
  } catch (error) {
    if (!(error instanceof AgentNotFoundError)) throw error
    if ((await countEvents(svc.use(Store), { agent_id: ref })) === 0) throw error
    return ref
  }
}

export const eventsFollow = stream({
  name: 'events.follow',
  summary: 'Stream events, oldest first',
  description:
    'The stream begins with `open`, which gives the position where it starts. Each `message` is one event, with its `seq` as the id. With `Last-Event-ID` or `after`, a client resumes where it stopped, even after restarts of the server, without loss or repetition. A `notice` has no id. It is sent when the daemon’s health or the number of agents in a status changes (`status_changed`), and for `config_changed` and `plugin_reloaded` in the process that answers the request.',
  input: z.object({
    agent_id: id.optional().describe('Only events of this agent'),
    type,
    after: seq
      .optional()
      .describe('Seq of the event after which to start; 0 for all events; `Last-Event-ID` takes precedence'),
    last: z.int().min(0).max(1000).optional().describe('Number of newest matching events to begin with'),
    follow: z.boolean().default(true).describe('Whether to wait for new events'),
    notices: z.boolean().default(false).describe('Also send a `notice` for changes that are not events of the log'),
  }),
  events: {
    open: z.object({ after: z.int().describe('Seq after which the stream begins') }),
    message: EventEnvelope,
    notice: Notice,
  },
  http: { method: 'GET', path: '/events' },
  cli: {
    usage: 'events',
    hidden: ['notices'],
    defaults: { follow: false, last: 20 },
    short: { follow: 'f', last: 'n' },
  },
  errors: [InvalidInputError, AgentNotFoundError, AmbiguousAgentError, EventsGoneError],
  async *run({ agent_id, type, after, last, follow: follows, notices: wanted }, call) {
    const { svc } = call
    const start = lastSeenSeq(call) ?? after
    const agent = agent_id === undefined ? undefined : await agentOf(svc, agent_id)
    yield* follow(svc, svc.use(OwnTail), {
      agent_id: agent,
      types: type,
      after: start,
      last,
      follow: follows,
      notices: wanted ? svc.use(OwnNotices) : undefined,
      signal: call.signal,
    })
  },
  render: ({ event, data }) => (event === 'message' ? line(data as EventEnvelope) : undefined),
})

export const eventsList = operation({
  name: 'events.list',
  summary: "List an agent's events, newest first",
  description: 'Returns the stored events of one agent, such as the start and end of its goals; `type` filters them.',
  input: Page.extend({
    id,
    type,
    limit: z.int().min(1).max(1000).default(100).describe('Maximum number of events (1 to 1000)'),
  }),
  output: z.array(EventEnvelope),
  http: { method: 'GET', path: '/agents/{id}/events' },
  mcp: true,
  errors: [AgentNotFoundError, AmbiguousAgentError],
  run: async ({ id, type, limit, offset }, { svc }) =>
    latestEvents(svc.use(Store), { agent_id: await agentOf(svc, id), types: type }, limit, offset),
  count: async ({ id, type }, { svc }) =>
    countEvents(svc.use(Store), { agent_id: await agentOf(svc, id), types: type }),
})

export const eventOperations = [eventsFollow, eventsList]

/**
 * Returns the last seq that the client has seen.
 * @throws InvalidInputError
 */
function lastSeenSeq({ last_event_id }: OperationCall): number | undefined {
  if (last_event_id === undefined) return undefined
  if (/^\d{1,15}$/.test(last_event_id)) return Number(last_event_id)
  const issues = [{ path: 'Last-Event-ID', message: 'must be the id of an event of this stream' }]
  throw new InvalidInputError({ what: 'The request', issues }, { errors: issues })
}

/** Maximum length of a description, in characters. */
const LONGEST = 300

function line({ at, type, agent_id, agent_name, data }: EventEnvelope): string {
  const agent = agent_id === null ? '-' : idAndName({ agent_id, name: agent_name })
  return `${at.slice(0, 19)}Z  ${agent}  ${brief(describeEvent(type, data), LONGEST)}`
}
