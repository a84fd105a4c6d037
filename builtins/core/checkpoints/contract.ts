import { defineError, type Effect, point, token, z } from '#kernel'

/** A module's part of an agent's checkpoint. */
export interface CheckpointPart<T = unknown> {
  /** Key of the part in a checkpoint, such as `suffering`. */
  name: string
  /** Lower ones are restored first, in one transaction. Default: 0. */
  stage?: number
  schema: z.ZodType<T>
  /** undefined when the agent has none */
  capture(agent_id: string): Promise<T | undefined>
  /** Returns the writes that restore this value, or its absence; capturing afterwards yields the same value. */
  restore(agent_id: string, value: T | undefined): Promise<readonly Effect[]>
}
export const CheckpointParts = point<CheckpointPart>('checkpoint_parts', {
  key: ({ name }) => name,
  has: { name: 'text', schema: 'schema', capture: 'function', restore: 'function' },
  stage: ({ stage }) => stage ?? 0,
})

/** State of an agent at one moment. */
export const Checkpoint = z
  .object({
    checkpoint_id: z.string().meta({ examples: ['ckpt-1a2b3c4d'] }),
    agent_id: z.string().meta({ examples: ['coder-1a2b3c4d'] }),
    label: z.string().meta({ examples: ['before the migration'] }),
    origin: z.enum(['asked', 'automatic']).describe('Whether it was requested or made automatically'),
    created_at: z.iso.datetime(),
    number: z.int().describe('Sequence number, which orders checkpoints of the same time'),
    cycle_num: z.int(),
    parts: z
      .record(z.string(), z.unknown())
      .describe('Saved parts by name, such as goals and suffering; null where the agent had nothing to save'),
  })
  .meta({ id: 'Checkpoint' })
export type Checkpoint = z.infer<typeof Checkpoint>

/** A checkpoint as it stands in lists. */
export const CheckpointSummary = Checkpoint.omit({ parts: true }).extend({
  parts: z.array(z.string()).describe('Names of the saved parts'),
  bytes: z.int(),
})
export type CheckpointSummary = z.infer<typeof CheckpointSummary>

/** One difference, as a JSON Patch operation (RFC 6902) with the previous value. */
export const CheckpointChange = z.object({
  op: z.enum(['add', 'remove', 'replace']),
  path: z
    .string()
    .meta({ examples: ['/goals/goal-9c8b7a6d5e4f/priority'] })
    .describe('JSON Pointer to the changed value'),
  value: z.unknown().optional(),
  was: z.unknown().optional(),
})
export type CheckpointChange = z.infer<typeof CheckpointChange>

export const CheckpointRestored = z
  .object({
    agent_id: z.string(),
    checkpoint_id: z.string(),
    before: z.string().describe('Checkpoint of the state before the restore'),
    left_out: z.array(z.string()).describe('Parts that were not restored, because their module is not loaded'),
  })
  .describe('An agent was restored from a checkpoint')
export type CheckpointRestored = z.infer<typeof CheckpointRestored>
export const CheckpointSaved = Checkpoint.pick({
  agent_id: true,
  checkpoint_id: true,
  label: true,
  origin: true,
}).describe('A checkpoint was created')

/** The checkpoints of agents; `latest` is accepted as the id of the newest one. */
export interface Checkpoints {
  /**
   * Saves the current state of an agent.
   * @param suffering value saved instead of the one that this module would capture; likewise `identity`, and each part
   * named in `ctx`
   * @returns the checkpoint's id
   * @throws AgentNotFoundError, CheckpointFailedError; InvalidInputError for a value that its part does not accept
   */
  save(
    agent_id: string,
    label: string,
    suffering?: unknown,
    identity?: unknown,
    ctx?: Readonly<Record<string, unknown>>,
  ): Promise<string>
  /**
   * Restores an agent to a checkpoint, completely or not at all. Its current state is saved as a checkpoint first; a
   * running cycle is cut off and writes nothing more.
   * @throws CheckpointNotFoundError, CheckpointUnreadableError, AgentDeadError, RestoreInterruptedError
   */
  restore(agent_id: string, checkpoint_id: string): Promise<CheckpointRestored>
  /** Returns the changes from `a` to `b`. */
  diff(a: Checkpoint, b: Checkpoint): CheckpointChange[]
  /** @throws CheckpointNotFoundError, CheckpointUnreadableError */
  get(agent_id: string, checkpoint_id: string): Promise<Checkpoint>
  /** Returns the current state of the agent, without saving it. */
  now(agent_id: string): Promise<Checkpoint>
  /** Returns the checkpoints of an agent, newest first. */
  list(agent_id: string): Promise<CheckpointSummary[]>
  /** @throws CheckpointNotFoundError */
  remove(agent_id: string, checkpoint_id: string): Promise<void>
  /** Keeps the newest `keep` requested checkpoints, and as many automatic ones. @returns the ids of the removed ones */
  prune(agent_id: string, keep: number): Promise<string[]>
}
export const Checkpoints = token<Checkpoints>('checkpoints')

/** A module's part of a bundle, from which another agent is created, here or in another project. */
export interface BundlePart<T = unknown> {
  /** Replaces the checkpoint part of the same name; other checkpoint parts are packed as captured. */
  name: string
  /** Lower ones are unpacked first. Default: 0. */
  stage?: number
  /** Untrusted input: the schema must limit all sizes. */
  schema: z.ZodType<T>
  /** Returns undefined when there is nothing to pack. */
  pack(agent_id: string): Promise<T | undefined>
  /**
   * Returns the writes that give the value to a new agent, whose row is written earlier in the same transaction.
   * @param ids new ids by those in the bundle; ids of goals are included from stage 0 on
   */
  unpack(agent_id: string, value: T, ids: Map<string, string>): Promise<UnpackedPart>
}
export interface UnpackedPart {
  effects: readonly Effect[]
  /** Reverts what was written outside the transaction, when the import fails. */
  undo?: () => Promise<void>
}
export const BundleParts = point<BundlePart>('bundle_parts', {
  key: ({ name }) => name,
  has: { name: 'text', schema: 'schema', pack: 'function', unpack: 'function' },
  stage: ({ stage }) => stage ?? 0,
})

/** Maximum size of a bundle's file, in bytes. */
export const LARGEST_BUNDLE = 64 * 1024 * 1024

/** An agent as a file that can be moved between projects. */
export const Bundle = z
  .object({
    format: z.string().meta({ examples: ['svc-agent'] }),
    version: z.int(),
    sha256: z.string().describe('SHA-256 of the content as JSON, which detects truncated or edited files'),
    content: z.looseObject({}).describe('The agent, its profile, and the data that modules keep about it'),
  })
  .meta({ id: 'Bundle' })
export type Bundle = z.infer<typeof Bundle>

/** Result of importing a bundle. */
export const ImportedAgent = z.object({
  agent_id: z.string().meta({ examples: ['coder-5e6f7a8b'] }),
  was: z.string().describe('Id of the exported agent'),
  preset: z.string(),
  parts: z.array(z.string()),
  left_out: z.array(z.string()).describe('Parts that were not imported, because their module is not loaded'),
  profile_written: z
    .string()
    .nullable()
    .describe('Path of the profile file that the import wrote; null if the project already had a profile of that name'),
})
export type ImportedAgent = z.infer<typeof ImportedAgent>

declare module '#kernel' {
  interface Events {
    checkpoint_saved: z.infer<typeof CheckpointSaved>
    checkpoint_restored: CheckpointRestored
    agent_imported: { agent_id: string; was: string }
  }
}

export const CheckpointNotFoundError = defineError({
  code: 'checkpoint_not_found',
  status: 404,
  title: 'Checkpoint not found',
  message: (p: { agent_id: string; checkpoint_id: string }) =>
    `Agent ${p.agent_id} has no checkpoint "${p.checkpoint_id}"; list them with: svc checkpoints ${p.agent_id}`,
})
export const CheckpointUnreadableError = defineError({
  code: 'checkpoint_unreadable',
  status: 409,
  title: 'Checkpoint unreadable',
  message: (p: { checkpoint_id: string; problem: string }) =>
    `Checkpoint ${p.checkpoint_id} cannot be used: ${p.problem}.`,
})
export const CheckpointFailedError = defineError({
  code: 'checkpoint_failed',
  status: 503,
  title: 'Checkpoint failed',
  message: (p: { agent_id: string; problem: string }) =>
    `Cannot save a checkpoint of agent ${p.agent_id}: ${p.problem}. No other data is lost.`,
})
export const RestoreInterruptedError = defineError({
  code: 'restore_interrupted',
  status: 409,
  title: 'Restore interrupted',
  message: (p: { agent_id: string }) =>
    `The restore of agent ${p.agent_id} was interrupted, because something else took over the agent. Nothing was changed; try again.`,
})
export const BadBundleError = defineError({
  code: 'bad_bundle',
  status: 422,
  title: 'Invalid bundle',
  message: (p: { problem: string }) => `The bundle cannot be imported, and nothing was changed: ${p.problem}.`,
})
export const BundleTooLargeError = defineError({
  code: 'bundle_too_large',
  status: 413,
  title: 'Bundle too large',
  message: (p: { bytes: number; limit: number }) =>
    `The bundle is ${(p.bytes / 1024 / 1024).toFixed(1)} MiB, and the maximum is ${p.limit / 1024 / 1024} MiB; remove memory records or old goals first.`,
})
