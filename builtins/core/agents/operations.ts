import { IMAGES_BODY_BYTES, ImageInputs, ImageRefusedError } from '#core/images/contract'
import { ModelNameError, Models } from '#core/models/contract'
import { ProfileNotFoundError } from '#core/profiles/contract'
import { defineError, operation, type PluginHandle, z } from '#kernel'
import { type HiddenRows, Page } from '#lib/list'
import { FolderError, FolderInput } from '#safety/sandbox/contract'
import { OwnAgents } from './agents.ts'
import {
  AgentDeadError,
  AgentDetail,
  AgentFilter,
  AgentNameTakenError,
  AgentNotFoundError,
  AgentRef,
  AgentStatus,
  AgentSummary,
  AmbiguousAgentError,
  DeletedAgent,
  Fleet,
  FleetQuery,
  NextRun,
  StatusEntry,
  WorktreePer,
} from './contract.ts'
import { agentPage, changedPage, nextSentence, STATUS_PAGE, spawnedPage, statusPage } from './page.ts'

const id = AgentRef
const model = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[\x21-\x7e]+$/, 'must be one word without spaces')
  .describe('Model as provider:model or provider:lite|standard|pro')
const changedModel = z
  .string()
  .max(200)
  .regex(/^[\x21-\x7e]*$/, 'must be one word without spaces')
  .describe('Model as provider:model or provider:lite|standard|pro; empty for the default')
const role = z
  .string()
  .trim()
  .min(1)
  .max(2000)
  .meta({ examples: ['keeps the tests green'] })
  .describe('Role of the agent, in one sentence')
const given = {
  workspace: FolderInput.nullish().describe(
    "Folder to work in, read-write (<path>:ro for read-only); default: the profile's; null for the agent's own folder",
  ),
  folders: z
    .array(FolderInput)
    .max(20)
    .optional()
    .describe('Further folder that the agent may use, read-only (<path>:rw for read-write)'),
}
/** Options whose values are paths on the machine. */
const FOLDER_OPTIONS = { workspace: 'workspace', folders: 'folder' }
const StatusChange = z.object({ agent_id: AgentSummary.shape.agent_id, status: AgentStatus })
const found = [AgentNotFoundError, AmbiguousAgentError] as const

const NameAnAgentError = defineError({
  code: 'name_an_agent',
  status: 422,
  exit: 2,
  title: 'Agent not specified',
  message: (p: { verb: string }) => `Name the agent to ${p.verb}, or name all agents with * or --all; not both.`,
})
const NothingToChangeError = defineError({
  code: 'nothing_to_change',
  status: 422,
  exit: 2,
  title: 'Nothing to change',
  message: () => 'Set at least one of model, role, workspace and folders.',
})

const Listed = Page.extend(AgentFilter.shape)

/** One agent by id, or all with the id `*` or, on the command line, `--all`. */
const Which = z.object({
  id: id.describe('Agent id, or agent name if it is unique; `*` for all agents').optional(),
  all: z.boolean().default(false).describe('Apply it to all agents'),
})

async function pauseOrResume(svc: PluginHandle, verb: 'pause' | 'resume', { id, all }: z.output<typeof Which>) {
  if (id !== '*' && all === (id !== undefined)) throw new NameAnAgentError({ verb })
  if (id !== undefined && id !== '*') {
    const { agent_id, status } = await svc.use(OwnAgents)[verb](id)
    return { agent_id, status }
  }
  await svc.use(OwnAgents).pauseOrResumeAll(verb)
  return { agent_id: '*', status: verb === 'pause' ? ('paused' as const) : ('idle' as const) }
}

const hidden: HiddenRows<typeof Listed> = {
  name: 'ended sub-agent',
  count: (wanted, services) => services.use(OwnAgents).countHidden(wanted),
}

export const agentsSpawn = operation({
  name: 'agents.spawn',
  summary: 'Spawn an agent from a preset',
  description: 'Creates an agent with a workspace and a memory of its own.',
  input: z.strictObject({
    preset: z
      .string()
      .min(1)
      .max(64)
      .meta({ examples: ['coder'] })
      .describe('Name of a profile'),
    name: z
      .string()
      .max(64)
      // The format of profile names: one word on the command line, one segment of a path.
      .regex(
        /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
        'must be letters, digits, ".", "_" or "-", beginning with a letter or digit',
      )
      .optional()
      .meta({ examples: ['parser-coder'] })
      .describe("Name of the agent, which no other live agent has (default: the profile's)"),
    model: model.nullish().describe("Model as provider:model or provider:lite|standard|pro (default: the profile's)"),
    ...given,
    goal: z
      .string()
      .trim()
      .min(1)
      .max(4000)
      .optional()
      .meta({ examples: ['Write a test for the parser'] })
      .describe('First goal of the agent, in plain words (default: it chooses its own)'),
    worktree: WorktreePer.optional().describe(
      "Work in a git worktree of the workspace: `agent` for all its work, `goal` with a branch for each goal (default: the profile's)",
    ),
  }),
  output: AgentDetail,
  http: {
    method: 'POST',
    path: '/agents',
    status: 201,
    idempotent: true,
    location: ({ agent_id }: AgentDetail) => `/agents/${agent_id}`,
  },
  cli: { usage: 'spawn <preset>', short: { model: 'm', workspace: 'w', goal: 'g' }, paths: FOLDER_OPTIONS },
  mcp: true,
  errors: [ProfileNotFoundError, ModelNameError, AgentNameTakenError, FolderError],
  async run({ preset, model, ...wanted }, { svc, effects }) {
    const agents = svc.use(OwnAgents)
    return agents.detailOf(await agents.spawn(preset, { model: model ?? undefined, ...wanted }, effects))
  },
  render: spawnedPage,
})

export const agentsList = operation({
  name: 'agents.list',
  summary: 'List agents, oldest first',
  description: 'Includes sub-agents that have ended; `status` filters by status.',
  input: Listed,
  output: z.array(AgentSummary),
  http: { method: 'GET', path: '/agents' },
  mcp: true,
  run: (wanted, { svc }) => svc.use(OwnAgents).summaries(wanted),
  count: (wanted, { svc }) => svc.use(OwnAgents).number(wanted),
  hidden,
})

export const agentsStatus = operation({
  name: 'agents.status',
  summary: "Show the agents' status",
  description: 'Returns one entry for each agent, with its status and goal.',
  input: Listed,
  output: z.array(StatusEntry),
  http: { method: 'GET', path: '/status' },
  // One page at most, so that people can read the list.
  cli: { usage: 'status', defaults: { limit: STATUS_PAGE, all: false }, short: { all: 'a' } },
  mcp: true,
  run: (wanted, { svc }) => svc.use(OwnAgents).status(wanted),
  count: (wanted, { svc }) => svc.use(OwnAgents).number(wanted),
  hidden,
  notice: services => services.use(OwnAgents).notice(),
  render: statusPage,
})

export const agentsFleet = operation({
  name: 'agents.fleet',
  summary: 'List agents at a glance, with totals',
  description: 'Returns for each agent its goal, cost, block reason and next run; the totals are of all agents.',
  input: FleetQuery,
  output: Fleet,
  http: { method: 'GET', path: '/fleet' },
  mcp: true,
  run: (query, { svc }) => svc.use(OwnAgents).fleet(query),
  count: async (query, { svc }) => (await svc.use(OwnAgents).fleet(query)).matching,
})

export const agentsGet = operation({
  name: 'agents.get',
  summary: 'Show an agent in full',
  description: "Returns the agent's status, goal, persona and spending, and when it runs next.",
  input: z.object({ id }),
  output: AgentDetail,
  http: { method: 'GET', path: '/agents/{id}' },
  cli: { usage: 'agent <id>' },
  mcp: true,
  errors: found,
  run: ({ id }, { svc }) => svc.use(OwnAgents).detail(id),
  render: agentPage,
})

export const agentsWhy = operation({
  name: 'agents.why',
  summary: 'Explain what an agent waits for',
  description: 'Returns when the agent runs next, and what blocks it until then.',
  input: z.object({ id }),
  output: NextRun.extend({
    agent_id: AgentSummary.shape.agent_id,
    status: AgentStatus,
    warning: z.string().nullable().describe('Why the context window of its model is too small; null if it is not'),
  }),
  http: { method: 'GET', path: '/agents/{id}/why' },
  cli: { usage: 'why <id>' },
  mcp: true,
  errors: found,
  async run({ id }, { svc }) {
    const { agent_id, status, model, next } = await svc.use(OwnAgents).detail(id)
    const problem = svc.has(Models)
      ? await svc
          .use(Models)
          .findWindowProblem?.(model, agent_id)
          .catch(() => null)
      : null
    return { agent_id, status, ...next, warning: problem ? `${problem.problem}; ${problem.remedy}` : null }
  },
  render: ({ agent_id, status, warning, ...next }) =>
    [`${agent_id} (${status}): ${nextSentence(next)}`, ...(warning ? [`Warning: ${warning}`] : [])].join('\n'),
})

export const agentsUpdate = operation({
  name: 'agents.update',
  summary: "Change an agent's model, role or folders",
  description:
    'The active goal continues with the new model. `folders` replaces all folders of the agent except its workspace.',
  input: z.strictObject({ id, model: changedModel.optional(), role: role.optional(), ...given }),
  output: AgentDetail,
  http: { method: 'PATCH', path: '/agents/{id}' },
  cli: {
    usage: 'edit <id>',
    short: { model: 'm', role: 'r', workspace: 'w' },
    paths: FOLDER_OPTIONS,
    example: 'edit coder-1a2b3c4d --model openai:pro',
  },
  mcp: true,
  errors: [...found, NothingToChangeError, ModelNameError, FolderError],
  run({ id, ...changes }, { svc }) {
    if (Object.values(changes).every(value => value === undefined)) throw new NothingToChangeError()
    return svc.use(OwnAgents).update(id, changes)
  },
  render: changedPage,
})

export const agentsDelete = operation({
  name: 'agents.delete',
  summary: 'Kill an agent',
  description:
    'Removes the agent with all of its records; its files move to .svc/trash. Changes in a git worktree that were not accepted are kept as branches.',
  input: z.object({ id }),
  output: DeletedAgent.nullable().describe('Branches that were kept; null for none'),
  http: {
    method: 'DELETE',
    path: '/agents/{id}',
    status: 204,
    statusOf: output => (output === null ? 204 : 200),
    statuses: { 200: 'Killed; its changes are kept on branches' },
  },
  cli: { usage: 'kill <id>' },
  mcp: true,
  errors: found,
  async run({ id }, { svc }) {
    const deleted = await svc.use(OwnAgents).delete(id)
    return deleted.kept_branches.length > 0 ? deleted : null
  },
  render: deleted =>
    [
      'removed; its files are in .svc/trash',
      ...(deleted?.kept_branches ?? []).map(
        ({ branch, repository }) => `Its changes are on branch ${branch} of ${repository}`,
      ),
    ].join('\n'),
})

export const agentsNudge = operation({
  name: 'agents.nudge',
  summary: 'Send an agent a nudge',
  description:
    'The agent reads the nudge before its next model call. Its last three are shown again when it chooses and begins later goals; what should always hold belongs into its role (agents.update) or its profile.',
  input: z.strictObject({
    id,
    message: z
      .string()
      .refine(text => text.trim() !== '', 'must not be empty')
      .refine(text => [...text].length <= 4000, 'must be at most 4000 characters (code points)')
      .meta({ minLength: 1, maxLength: 4000, examples: ['Please look at the failing test first.'] })
      .describe('Message for the agent, in at most 4000 characters'),
    images: ImageInputs,
  }),
  output: z.object({ nudge_id: z.string().meta({ examples: ['nudge-5e6f7a8b'] }) }),
  http: {
    method: 'POST',
    path: '/agents/{id}/nudge',
    status: 202,
    idempotent: true,
    body_bytes: IMAGES_BODY_BYTES,
  },
  cli: { usage: 'nudge <id> <message...>', attachments: { images: 'image' } },
  mcp: true,
  errors: [...found, AgentDeadError, ImageRefusedError],
  notice: services => services.use(OwnAgents).blockOfAll(),
  run: async ({ id, message, images }, { svc, effects }) => ({
    nudge_id: await svc.use(OwnAgents).nudge(id, message, effects, images),
  }),
  render: ({ nudge_id }) => `${nudge_id}: the agent reads it before its next model call`,
})

export const agentsPause = operation({
  name: 'agents.pause',
  summary: 'Pause an agent',
  description: 'The daemon skips the agent until it is resumed, also after restarts.',
  input: Which,
  output: StatusChange,
  http: { method: 'POST', path: '/agents/{id}/pause', hidden: ['all'] },
  cli: { usage: 'pause [id]', short: { all: 'a' }, example: 'pause coder-1a2b3c4d' },
  mcp: true,
  errors: [...found, AgentDeadError, NameAnAgentError],
  run: (which, { svc }) => pauseOrResume(svc, 'pause', which),
  render: ({ agent_id }) => `${agent_id === '*' ? 'all agents' : agent_id}: paused`,
})

export const agentsResume = operation({
  name: 'agents.resume',
  summary: 'Resume a paused agent',
  description: 'The goal of the agent continues where it stopped.',
  input: Which,
  output: StatusChange,
  http: { method: 'POST', path: '/agents/{id}/resume', hidden: ['all'] },
  cli: { usage: 'resume [id]', short: { all: 'a' }, example: 'resume coder-1a2b3c4d' },
  mcp: true,
  errors: [...found, AgentDeadError, NameAnAgentError],
  run: (which, { svc }) => pauseOrResume(svc, 'resume', which),
  notice: services => services.use(OwnAgents).blockOfAll(),
  render: ({ agent_id, status }) => `${agent_id === '*' ? 'all agents' : agent_id}: ${status}`,
})

export const agentOperations = [
  agentsSpawn,
  agentsList,
  agentsStatus,
  agentsFleet,
  agentsGet,
  agentsWhy,
  agentsUpdate,
  agentsDelete,
  agentsNudge,
  agentsPause,
  agentsResume,
]
