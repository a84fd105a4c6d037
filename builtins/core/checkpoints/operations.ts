import { AgentDeadError, AgentNotFoundError, AgentRef, Agents, AmbiguousAgentError } from '#core/agents/contract'
import { InvalidInputError, operation, type PluginHandle, z } from '#kernel'
import { Page } from '#lib/list'
import { OwnCheckpoints } from './checkpoint-service.ts'
import {
  Checkpoint,
  CheckpointChange,
  CheckpointFailedError,
  CheckpointNotFoundError,
  CheckpointRestored,
  CheckpointSummary,
  CheckpointUnreadableError,
  RestoreInterruptedError,
} from './contract.ts'

const id = AgentRef
const checkpoint_id = z
  .string()
  .min(1)
  .max(64)
  .meta({ examples: ['ckpt-1a2b3c4d'] })
  .describe('Id of a checkpoint, or `latest`')
const found = [AgentNotFoundError, AmbiguousAgentError]
const readable = [...found, CheckpointNotFoundError, CheckpointUnreadableError]

const idOf = async (svc: PluginHandle, ref: string) => (await svc.use(Agents).find(ref)).agent_id

export const checkpointsList = operation({
  name: 'checkpoints.list',
  summary: "List an agent's checkpoints, newest first",
  description: 'Returns requested and automatic checkpoints.',
  input: Page.extend({ id }),
  output: z.array(CheckpointSummary),
  http: { method: 'GET', path: '/agents/{id}/checkpoints' },
  cli: { usage: 'checkpoints <id>', short: { limit: 'n' } },
  mcp: true,
  errors: found,
  run: async ({ id, limit, offset }, { svc }) =>
    (await svc.use(OwnCheckpoints).list(await idOf(svc, id))).slice(
      offset,
      limit === undefined ? undefined : offset + limit,
    ),
  count: async ({ id }, { svc }) => (await svc.use(OwnCheckpoints).list(await idOf(svc, id))).length,
  render: all => all.map(line).join('\n') || 'no checkpoints yet; create one with: svc checkpoint take <agent>',
})

export const checkpointsTake = operation({
  name: 'checkpoints.take',
  summary: 'Create a checkpoint',
  description: "Saves the agent's goals, state, identity and belongings.",
  input: z.strictObject({
    id,
    label: z.string().trim().max(200).default('').describe('Label, such as the reason for the checkpoint'),
  }),
  output: CheckpointSummary,
  http: {
    method: 'POST',
    path: '/agents/{id}/checkpoints',
    status: 201,
    idempotent: true,
    location: ({ agent_id, checkpoint_id }: CheckpointSummary) => `/agents/${agent_id}/checkpoints/${checkpoint_id}`,
  },
  cli: { usage: 'checkpoint take <id> [label...]' },
  mcp: true,
  errors: [...found, CheckpointFailedError, CheckpointNotFoundError],
  async run({ id, label }, { svc, effects }) {
    const agent_id = await idOf(svc, id)
    const taken = await svc.use(OwnCheckpoints).keep(agent_id, label, effects)
    const summary = (await svc.use(OwnCheckpoints).list(agent_id)).find(each => each.checkpoint_id === taken)
    // Its agent was deleted in the meantime.
    if (!summary) throw new CheckpointNotFoundError({ agent_id, checkpoint_id: taken })
    return summary
  },
  render: line,
})

export const checkpointsGet = operation({
  name: 'checkpoints.get',
  summary: 'Show a checkpoint in full',
  description: 'Returns everything that a restore would bring back.',
  input: z.object({ id, checkpoint_id }),
  output: Checkpoint,
  http: { method: 'GET', path: '/agents/{id}/checkpoints/{checkpoint_id}' },
  cli: { usage: 'checkpoint show <id> <checkpoint_id>' },
  mcp: true,
  errors: readable,
  run: async ({ id, checkpoint_id }, { svc }) => svc.use(OwnCheckpoints).get(await idOf(svc, id), checkpoint_id),
})

export const checkpointsDiff = operation({
  name: 'checkpoints.diff',
  summary: 'Compare a checkpoint with another or the current state',
  description: 'Lists what was added, removed and changed between the two states.',
  input: z.object({
    id,
    checkpoint_id,
    to: checkpoint_id
      .optional()
      .describe('Id of the checkpoint to compare with, or `latest` (default: the current state)'),
  }),
  output: z.array(CheckpointChange),
  http: { method: 'GET', path: '/agents/{id}/checkpoints/{checkpoint_id}/diff' },
  cli: { usage: 'checkpoint diff <id> <checkpoint_id> [to]' },
  mcp: true,
  errors: readable,
  async run({ id, checkpoint_id, to }, { svc }) {
    const agent_id = await idOf(svc, id)
    const from = await svc.use(OwnCheckpoints).get(agent_id, checkpoint_id)
    return svc
      .use(OwnCheckpoints)
      .diff(from, await (to ? svc.use(OwnCheckpoints).get(agent_id, to) : svc.use(OwnCheckpoints).now(agent_id)))
  },
  render: changes => changes.map(change).join('\n') || 'no difference',
})

export const checkpointsRestore = operation({
  name: 'checkpoints.restore',
  summary: 'Restore an agent from a checkpoint',
  description: "Saves the agent's current state as a checkpoint first.",
  input: z.strictObject({ id, checkpoint_id }),
  output: CheckpointRestored,
  http: { method: 'POST', path: '/agents/{id}/checkpoints/{checkpoint_id}/restore' },
  cli: { usage: 'checkpoint restore <id> <checkpoint_id>' },
  mcp: true,
  errors: [...readable, AgentDeadError, CheckpointFailedError, RestoreInterruptedError],
  run: async ({ id, checkpoint_id }, { svc }) => svc.use(OwnCheckpoints).restore(await idOf(svc, id), checkpoint_id),
  render: ({ agent_id, checkpoint_id, before, left_out }) =>
    [
      `${agent_id} was restored from ${checkpoint_id}. To return to its previous state: svc checkpoint restore ${agent_id} ${before}`,
      'Goals added since are abandoned. Memories, messages and files stay as they are.',
      ...(left_out.length > 0
        ? [`Not restored, because the module of these parts is not loaded: ${left_out.join(', ')}`]
        : []),
    ].join('\n'),
})

export const checkpointsDelete = operation({
  name: 'checkpoints.delete',
  summary: 'Delete a checkpoint',
  description: 'Removes the file of the checkpoint.',
  input: z.object({ id, checkpoint_id }),
  output: z.null(),
  http: { method: 'DELETE', path: '/agents/{id}/checkpoints/{checkpoint_id}', status: 204 },
  cli: { usage: 'checkpoint delete <id> <checkpoint_id>' },
  mcp: true,
  errors: [...found, CheckpointNotFoundError],
  async run({ id, checkpoint_id }, { svc }) {
    // A deletion needs an explicit id: the latest checkpoint may have changed.
    if (checkpoint_id === 'latest') {
      const message = 'must be the id of a checkpoint, not "latest"'
      throw new InvalidInputError(
        { what: 'The request', issues: [{ path: 'checkpoint_id', message }] },
        { errors: [{ path: 'checkpoint_id', message }] },
      )
    }
    await svc.use(OwnCheckpoints).remove(await idOf(svc, id), checkpoint_id)
    return null
  },
  render: () => 'deleted',
})

export const checkpointsPrune = operation({
  name: 'checkpoints.prune',
  summary: "Delete all but an agent's newest checkpoints",
  description: 'Requested and automatic checkpoints are counted separately.',
  input: z.strictObject({
    id,
    keep: z
      .int()
      .min(0)
      .max(1000)
      .optional()
      .describe('Number of checkpoints to keep of each kind, requested and automatic (default: checkpoints.keep)'),
  }),
  output: z.object({ removed: z.array(z.string()) }),
  http: { method: 'POST', path: '/agents/{id}/checkpoints/prune' },
  cli: { usage: 'checkpoint prune <id>' },
  mcp: true,
  errors: found,
  async run({ id, keep }, { svc }) {
    const kept = keep ?? Number(svc.config.get('checkpoints.keep'))
    return { removed: await svc.use(OwnCheckpoints).prune(await idOf(svc, id), kept) }
  },
  render: ({ removed }) => `${removed.length} deleted`,
})

export const checkpointOperations = [
  checkpointsList,
  checkpointsTake,
  checkpointsGet,
  checkpointsDiff,
  checkpointsRestore,
  checkpointsDelete,
  checkpointsPrune,
]

function line({ checkpoint_id, created_at, origin, label, parts, bytes }: CheckpointSummary): string {
  const when = created_at.slice(0, 19).replace('T', ' ')
  const size = `${(bytes / 1024).toFixed(1)} KiB`
  return `${checkpoint_id}  ${when}  ${origin === 'asked' ? 'requested' : origin}  ${size}  ${parts.join(', ') || 'nothing'}${label ? `  "${label}"` : ''}`
}

const LONGEST_SHOWN = 200

function change({ op, path, was, value }: CheckpointChange): string {
  const text = (each: unknown) => {
    const json = JSON.stringify(each) ?? 'nothing'
    return json.length > LONGEST_SHOWN ? `${json.slice(0, LONGEST_SHOWN).replace(/[\ud800-\udbff]$/, '')}…` : json
  }
  if (op === 'add') return `+ ${path}  ${text(value)}`
  return op === 'remove' ? `- ${path}  ${text(was)}` : `~ ${path}  ${text(was)} → ${text(value)}`
}
