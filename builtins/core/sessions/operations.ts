import { AgentDeadError, AgentNotFoundError, AgentRef, Agents, AmbiguousAgentError } from '#core/agents/contract'
import { operation, type PluginHandle, z } from '#kernel'
import { brief } from '#lib/brief'
import { formatCount } from '#lib/format-count'
import { idAndName } from '#lib/id-and-name'
import { idSchema } from '#lib/id-schema'
import { othersNotice } from '#lib/list'
import { formatUsd } from '#lib/usd'
import { DatedPage, Store } from '#platform/store/contract'
import { OtherAgentSessionError, SESSION_STATUSES, Session, SessionNotFoundError } from './contract.ts'
import { countSessions, listSessions, type SessionFilter } from './repository.ts'
import { OwnSessions, toSession } from './sessions.ts'

const agent_id = AgentRef
const session_key = z.string().min(1).max(256)
const session_id = idSchema("A session's id", 'sess-1a2b3c4d5e6f')
/** Maximum size of metadata, in characters of JSON. */
const MAX_METADATA = 16_384

const OpenedSession = Session.extend({ created: z.boolean().describe('Whether this request created the session') })
type OpenedSession = z.infer<typeof OpenedSession>

async function filter(
  svc: Pick<PluginHandle, 'use'>,
  wanted: Omit<SessionFilter, 'user_id'>,
  user_id: string,
): Promise<SessionFilter> {
  const { agent_id: ref, ...rest } = wanted
  const agent_id = ref === undefined ? undefined : (await svc.use(Agents).find(ref)).agent_id
  return { ...rest, user_id, agent_id }
}

export const sessionsCreate = operation({
  name: 'sessions.create',
  summary: 'Open a session, or find the running one',
  description:
    'A session groups tasks into one conversation. If the user already has a running session with the same key, that session is returned.',
  input: z.strictObject({
    agent_id,
    session_key: session_key.nullish().describe('Name of the session, chosen by the user'),
    task: z.string().max(4000).default('').describe('Subject of the session (default: the first instruction)'),
    metadata: z
      .record(z.string(), z.unknown())
      .refine(value => JSON.stringify(value).length <= MAX_METADATA, `must be at most ${MAX_METADATA} characters`)
      .nullish()
      .describe('Data of the client, stored with the session'),
  }),
  output: OpenedSession,
  http: {
    method: 'POST',
    path: '/sessions',
    status: 201,
    idempotent: true,
    statuses: { 200: 'The session was already open' },
    statusOf: ({ created }: OpenedSession) => (created ? 201 : 200),
    location: ({ session_id }: OpenedSession) => `/sessions/${session_id}`,
  },
  cli: { usage: 'sessions open <agent_id>', short: { session_key: 'k' } },
  mcp: true,
  // The agent may be removed, with its sessions, before the new session is read.
  errors: [AgentNotFoundError, AmbiguousAgentError, AgentDeadError, OtherAgentSessionError, SessionNotFoundError],
  async run({ metadata, session_key, ...wanted }, { svc, tenant, effects }) {
    const { session, created } = await svc.use(OwnSessions).open({ ...wanted, tenant, session_key, metadata }, effects)
    return { ...session, created }
  },
  render: ({ session_id, created }) => `${session_id}${created ? '' : '  (already open)'}`,
})

export const sessionsList = operation({
  name: 'sessions.list',
  summary: 'List sessions, newest first',
  description:
    'Returns the sessions of the calling user: over HTTP the one in X-Svc-User, on the command line `default`.',
  input: DatedPage.extend({
    agent_id: agent_id.optional(),
    session_key: session_key.optional().describe('Only sessions with this name'),
    status: z.enum(SESSION_STATUSES).optional().describe('Only sessions with this status'),
  }),
  output: z.array(Session),
  http: { method: 'GET', path: '/sessions' },
  cli: { usage: 'sessions [agent_id]', short: { limit: 'n', session_key: 'k' } },
  mcp: true,
  errors: [AgentNotFoundError, AmbiguousAgentError],
  async run({ limit, offset, order, ...wanted }, { svc, tenant }) {
    const page = { limit, offset, order }
    const rows = await listSessions(
      svc.use(Store),
      await filter(svc, wanted, tenant),
      svc.use(OwnSessions).idleBefore,
      page,
    )
    return rows.map(toSession)
  },
  count: async (wanted, { svc, tenant }) =>
    countSessions(svc.use(Store), await filter(svc, wanted, tenant), svc.use(OwnSessions).idleBefore),
  notice: async (services, { input, tenant }) => {
    const others = { ...(await filter(services, input, tenant)), of_others: true }
    const { idleBefore } = services.use(OwnSessions)
    return othersNotice(await countSessions(services.use(Store), others, idleBefore), 'session')
  },
  render: sessions => sessions.map(line).join('\n') || 'no sessions of the user "default" yet',
})

export const sessionsGet = operation({
  name: 'sessions.get',
  summary: 'Show a session',
  description: 'Returns the session with its status, its last activity and its token counts.',
  input: z.object({ session_id }),
  output: Session,
  http: { method: 'GET', path: '/sessions/{session_id}' },
  cli: { usage: 'session <session_id>' },
  mcp: true,
  errors: [SessionNotFoundError],
  run: ({ session_id }, { svc, tenant }) => svc.use(OwnSessions).get(session_id, tenant),
})

export const sessionsClose = operation({
  name: 'sessions.close',
  summary: 'Close a session',
  description: 'Cancels the running and waiting tasks of the session. The session itself is kept as a record.',
  input: z.object({ session_id }),
  output: z.null(),
  http: { method: 'DELETE', path: '/sessions/{session_id}', status: 204 },
  cli: { usage: 'sessions close <session_id>' },
  mcp: true,
  errors: [SessionNotFoundError],
  async run({ session_id }, { svc, tenant }) {
    await svc.use(OwnSessions).close(session_id, tenant)
    return null
  },
  render: () => 'closed',
})

export const sessionOperations = [sessionsCreate, sessionsList, sessionsGet, sessionsClose]

function line({ session_id, last_active, status, session_key, task, cost_usd, tokens, ...session }: Session): string {
  const agent = idAndName({ agent_id: session.agent_id, name: session.agent_name })
  const key = session_key && `[${session_key.replace(/\s+/g, ' ')}]`
  const about = [key, brief(task, 60)].filter(Boolean).join(' ')
  return `${session_id}  ${last_active}  ${agent}  ${status}  ${formatCount(tokens)} tokens, ${formatUsd(cost_usd)}  ${about}`.trimEnd()
}
