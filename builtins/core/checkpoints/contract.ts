import { defineError, type Effect, point, token, z } from '#kernel'

/** What a module keeps of an agent, as far as a checkpoint holds it. */
export interface CheckpointPart<T = unknown> {
  /** The key under which it stands in a checkpoint, as in `suffering`. */
  name: string
  /** Lower ones are restored first, in one transaction. Default: 0. */
  stage?: number
  schema: z.ZodType<T>
  /** undefined when the agent has none */
  capture(agent_id: string): Promise<T | undefined>
  /** The writes that bring the agent back to this, or to having none: captured again, it is the same. */
  restore(agent_id: string, value: T | undefined): Promise<readonly Effect[]>
}
export const CheckpointParts = point<CheckpointPart>('checkpoint_parts', {
  key: ({ name }) => name,
  has: { name: 'text', schema: 'schema', capture: 'function', restore: 'function' },
  stage: ({ stage }) => stage ?? 0,
})

/** An agent as it stood at a moment. */
export const Checkpoint = z
  .object({
    checkpoint_id: z.string().meta({ examples: ['ckpt-1a2b3c4d'] }),
    agent_id: z.string().meta({ examples: ['coder-1a2b3c4d'] }),
    label: z.string().meta({ examples: ['before the migration'] }),
    origin: z.enum(['asked', 'automatic']).describe('Whether it was requested or made automatically'),
    created_at: z.iso.datetime(),
    number: z.number().int().describe('Counts up, so that of two at one time the later is known'),
    cycle_num: z.number().int(),
    parts: z
      .record(z.string(), z.unknown())
      .describe('What modules keep of it, by name, such as goals and suffering; null where there was nothing'),
  })
  .meta({ id: 'Checkpoint' })
export type Checkpoint = z.infer<typeof Checkpoint>

/** A checkpoint as it stands in lists. */
export const CheckpointSummary = Checkpoint.omit({ parts: true }).extend({
  parts: z.array(z.string()).describe('What it holds'),
  bytes: z.number().int(),
})
export type CheckpointSummary = z.infer<typeof CheckpointSummary>

/** One difference, as an operation of JSON Patch (RFC 6902) with what stood there before. */
export const CheckpointChange = z.object({
  op: z.enum(['add', 'remove', 'replace']),
  path: z
    .string()
    .meta({ examples: ['/goals/goal-9c8b7a6d5e4f/priority'] })
    .describe('A JSON Pointer'),
  value: z.unknown().optional(),
  was: z.unknown().optional(),
})
export type CheckpointChange = z.infer<typeof CheckpointChange>

export const CheckpointRestored = z
  .object({
    agent_id: z.string(),
    checkpoint_id: z.string(),
    before: z.string().describe('The checkpoint of what was there before'),
    left_out: z.array(z.string()).describe('Parts whose module is not loaded; they were left as they are'),
  })
  .describe('An agent was brought back to a checkpoint')
export type CheckpointRestored = z.infer<typeof CheckpointRestored>
export const CheckpointSaved = Checkpoint.pick({
  agent_id: true,
  checkpoint_id: true,
  label: true,
  origin: true,
}).describe('A checkpoint was taken')

/** The checkpoints of agents; `latest` stands for the newest one's id. */
export interface Checkpoints {
  /**
   * Saves an agent as it stands.
   * @param suffering value saved in place of what the module of that name would capture; so `identity`, and in `ctx`
   * any part by its name
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
   * Brings the agent back to a checkpoint, all of it or nothing. What it was is kept as a checkpoint first; a cycle that runs
   * is cut off and writes nothing more.
   * @throws CheckpointNotFoundError, CheckpointUnreadableError, AgentDeadError, RestoreInterruptedError
   */
  restore(agent_id: string, checkpoint_id: string): Promise<CheckpointRestored>
  /** What leads from one to the other. */
  diff(a: Checkpoint, b: Checkpoint): CheckpointChange[]
  /** @throws CheckpointNotFoundError, CheckpointUnreadableError */
  get(agent_id: string, checkpoint_id: string): Promise<Checkpoint>
  /** The agent as it stands now, written nowhere. */
  now(agent_id: string): Promise<Checkpoint>
  /** The newest first. */
  list(agent_id: string): Promise<CheckpointSummary[]>
  /** @throws CheckpointNotFoundError */
  remove(agent_id: string, checkpoint_id: string): Promise<void>
  /** Keeps this number of requested checkpoints, and of automatic ones. @returns the ids of the removed ones */
  prune(agent_id: string, keep: number): Promise<string[]>
}
export const Checkpoints = token<Checkpoints>('checkpoints')

/** What a module says of an agent in a bundle, which makes another agent of it, here or in another project. */
export interface BundlePart<T = unknown> {
  /** A part of a checkpoint with this name is not asked then; the others are taken as they are captured. */
  name: string
  /** Lower ones are unpacked first. Default: 0. */
  stage?: number
  /** Of what a stranger may have written: bounds everything. */
  schema: z.ZodType<T>
  /** undefined when there is nothing to say */
  pack(agent_id: string): Promise<T | undefined>
  /**
   * What gives it to a new agent whose row is written in the same transaction, before these effects.
   * @param ids ids of the bundle, with those that stand for them here; goals are in it from stage 0 on
   */
  unpack(agent_id: string, value: T, ids: Map<string, string>): Promise<UnpackedPart>
}
export interface UnpackedPart {
  effects: readonly Effect[]
  /** Takes back what was written besides, when the agent comes to nothing. */
  undo?: () => Promise<void>
}
export const BundleParts = point<BundlePart>('bundle_parts', {
  key: ({ name }) => name,
  has: { name: 'text', schema: 'schema', pack: 'function', unpack: 'function' },
  stage: ({ stage }) => stage ?? 0,
})

/** In bytes, of a bundle's file. */
export const LARGEST_BUNDLE = 64 * 1024 * 1024

/** An agent as a file that goes from project to project. */
export const Bundle = z
  .object({
    format: z.string().meta({ examples: ['svc-agent'] }),
    version: z.number().int(),
    sha256: z.string().describe('Of its content as JSON; it shows whether the file is torn or edited'),
    content: z.looseObject({}).describe('The agent, its profile, and what modules say of it'),
  })
  .meta({ id: 'Bundle' })
export type Bundle = z.infer<typeof Bundle>

/** What came of a bundle. */
export const ImportedAgent = z.object({
  agent_id: z.string().meta({ examples: ['coder-5e6f7a8b'] }),
  was: z.string().describe('The id of the agent that was exported'),
  preset: z.string(),
  parts: z.array(z.string()),
  left_out: z.array(z.string()).describe('Parts whose module is not loaded'),
  profile_written: z.string().nullable().describe('The file of the preset, where there was none of that name'),
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
    `No checkpoint of ${p.agent_id} was written: ${p.problem}; nothing else is lost by that.`,
})
export const RestoreInterruptedError = defineError({
  code: 'restore_interrupted',
  status: 409,
  title: 'Restore interrupted',
  message: (p: { agent_id: string }) =>
    `Something else took over agent ${p.agent_id} while it was being put back, so nothing was changed; try again.`,
})
export const BadBundleError = defineError({
  code: 'bad_bundle',
  status: 422,
  title: 'Bad bundle',
  message: (p: { problem: string }) => `The bundle cannot be imported, and nothing was changed: ${p.problem}.`,
})
export const BundleTooLargeError = defineError({
  code: 'bundle_too_large',
  status: 413,
  title: 'Bundle too large',
  message: (p: { bytes: number; limit: number }) =>
    `The bundle has ${(p.bytes / 1024 / 1024).toFixed(1)} MiB, and at most ${p.limit / 1024 / 1024} MiB are taken; forget memory records or old goals first.`,
})
