import { join, relative, resolve } from 'node:path'
import { Agents } from '#core/agents/contract'
import { Models } from '#core/models/contract'
import { Profile, ProfileNotFoundError, Profiles } from '#core/profiles/contract'
import { type Effect, errorMessage, type PluginHandle, parse, z } from '#kernel'
import { secretMasker } from '#lib/secrets'
import { appendEvent, isoTime, Store } from '#platform/store/contract'
import {
  BadBundleError,
  type Bundle,
  type BundlePart,
  BundleParts,
  BundleTooLargeError,
  CheckpointParts,
  type ImportedAgent,
  LARGEST_BUNDLE,
} from './contract.ts'
import { EnvelopeError, openEnvelope, seal } from './envelope.ts'
import { findDanger } from './untrusted-json.ts'

const FORMAT = 'svc-agent'
const VERSION = 1

const name = z
  .string()
  .min(1)
  .max(64)
  .regex(/^\P{Cc}*$/u, 'must not contain control characters')
const Content = z.strictObject({
  exported_at: z.iso.datetime(),
  agent: z.strictObject({
    agent_id: z.string().min(1).max(128),
    name: name,
    role: z.string().max(2000),
    given_role: z.string().max(2000).nullish(),
    model: z.string().max(200),
    preset: z.string().regex(/^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'is not a valid profile name'),
    created_at: z.iso.datetime(),
    cycle_count: z.int().min(0),
  }),
  profile: Profile.nullable(),
  parts: z.record(z.string().regex(/^[a-z][a-z0-9_-]{0,63}$/), z.unknown()),
})

/** Options of an import. */
export interface ImportOptions {
  preset?: string | undefined
  model?: string | undefined
}

/** Exports agents to files and imports them, also in other projects. */
export class Bundles {
  readonly #svc: PluginHandle

  constructor(svc: PluginHandle) {
    this.#svc = svc
  }

  /** Exports an agent, without the values of secrets. @throws AgentNotFoundError, BundleTooLargeError */
  async pack(ref: string): Promise<Bundle> {
    const agent = await this.#svc.use(Agents).find(ref)
    const { agent_id, name, role, given_role, model, preset, cycle_num } = agent
    const parts: [string, unknown][] = []
    for (const part of this.#parts()) {
      const value = await part.pack(agent_id)
      if (value !== undefined) parts.push([part.name, value])
    }
    const content: z.input<typeof Content> = {
      exported_at: isoTime(this.#svc.clock.ms()),
      agent: {
        agent_id,
        name,
        role,
        given_role,
        model,
        preset,
        created_at: isoTime(agent.created_at),
        cycle_count: cycle_num,
      },
      // A broken or missing preset must not prevent the export.
      profile: await this.#svc
        .use(Profiles)
        .get(preset)
        .catch(() => null),
      parts: Object.fromEntries(parts),
    }
    const harmless = (key: string, value: unknown) => (key === '__proto__' ? undefined : value)
    const masked = JSON.parse(secretMasker(this.#svc)(JSON.stringify(content)), harmless) as Bundle['content']
    const bundle = seal(FORMAT, VERSION, masked)
    const bytes = Buffer.byteLength(JSON.stringify(bundle))
    if (bytes > LARGEST_BUNDLE) throw new BundleTooLargeError({ bytes, limit: LARGEST_BUNDLE })
    return bundle
  }

  /**
   * Creates an agent from a bundle, with a new id, in one transaction.
   * @param bundle parsed JSON, not trusted
   * @throws BadBundleError, ProfileNotFoundError, ModelNameError, GuardrailBlockedError where guardrails watch the memory
   */
  async unpack(bundle: unknown, options: ImportOptions = {}, also: readonly Effect[] = []): Promise<ImportedAgent> {
    const content = contentOf(bundle)
    const undo: (() => Promise<void>)[] = []
    try {
      return await this.#make(content, options, also, undo)
    } catch (error) {
      for (const each of undo.reverse())
        await each().catch(failed =>
          this.#svc.log.warn({}, `cannot undo a part of the failed import: ${errorMessage(failed)}`),
        )
      throw error
    }
  }

  async #make(
    { agent, profile, parts }: z.output<typeof Content>,
    options: ImportOptions,
    also: readonly Effect[],
    undo: (() => Promise<void>)[],
  ): Promise<ImportedAgent> {
    const known = this.#parts().filter(({ name }) => Object.hasOwn(parts, name))
    const values = new Map(known.map(part => [part, parsePart(part, parts[part.name])]))
    const model = options.model ?? agent.model
    if (model) await this.#svc.use(Models).resolve(model)
    const preset = options.preset ?? agent.preset
    const profile_written = await this.#profile(preset, options.preset ? null : profile, undo)

    const agents = this.#svc.use(Agents)
    const agent_id = this.#svc.ports.ids.make(preset, 8)
    const ids = new Map([[agent.agent_id, agent_id]])
    const { name, role, given_role = null } = agent
    const born = { agent_id, name, role, given_role, model, preset, spawned_by: null }
    const effects: Effect[] = agents.create(born)
    for (const [part, value] of values) {
      const unpacked = await part.unpack(agent_id, value, ids)
      effects.push(...unpacked.effects)
      if (unpacked.undo) undo.push(unpacked.undo)
    }
    effects.push(appendEvent({ type: 'agent_imported', agent_id, data: { agent_id, was: agent.agent_id } }))
    if (
      !(await this.#svc
        .use(Store)
        .apply([...effects, ...also])
        .catch(contradiction))
    )
      contradiction()
    const names = known.map(part => part.name)
    return {
      agent_id,
      was: agent.agent_id,
      preset,
      parts: names,
      profile_written,
      left_out: Object.keys(parts).filter(name => !names.includes(name)),
    }
  }

  /** Writes the bundle's preset if the project has none of this name. @throws ProfileNotFoundError */
  async #profile(preset: string, profile: Profile | null, undo: (() => Promise<void>)[]): Promise<string | null> {
    try {
      await this.#svc.use(Profiles).read(preset)
      return null
    } catch (error) {
      if (!(error instanceof ProfileNotFoundError) || !profile) throw error
    }
    const { ports, project, config } = this.#svc
    const folder = resolve(project.root, String(config.get('profiles_dir') || 'profiles'))
    const file = join(folder, `${preset}.yaml`)
    await ports.files.mkdir(folder, { recursive: true })
    // JSON is valid YAML. An existing file is not overwritten.
    await ports.files.writeFile(file, `${JSON.stringify(profile, null, 2)}\n`, { flag: 'wx' })
    undo.push(() => ports.files.rm(file, { force: true }))
    await this.#svc.use(Profiles).read(preset)
    return relative(project.root, file)
  }

  /** Returns the parts of bundles; parts of checkpoints without a bundle form are taken as captured. */
  #parts(): BundlePart[] {
    const own = this.#svc.list(BundleParts)
    const captured = this.#svc
      .list(CheckpointParts)
      .filter(({ name }) => !own.some(part => part.name === name))
      .map(
        (part): BundlePart => ({
          name: part.name,
          schema: part.schema,
          pack: agent_id => part.capture(agent_id),
          unpack: async (agent_id, value) => ({ effects: await part.restore(agent_id, value) }),
        }),
      )
    return [...own, ...captured]
  }
}

/** @throws BadBundleError */
function contentOf(bundle: unknown): z.output<typeof Content> {
  const problem = findDanger(bundle)
  if (problem) throw new BadBundleError({ problem })
  try {
    return parse(Content, openEnvelope(FORMAT, VERSION, bundle), 'Its content')
  } catch (error) {
    if (error instanceof BadBundleError) throw error
    throw new BadBundleError({ problem: problemOf(error) }, { cause: error })
  }
}

/** @throws BadBundleError */
function parsePart(part: BundlePart, value: unknown): unknown {
  try {
    return parse(part.schema, value, `Its part "${part.name}"`)
  } catch (error) {
    throw new BadBundleError({ problem: problemOf(error) }, { cause: error })
  }
}

/** Codes of constraint errors: SQLite's, PostgreSQL's (https://www.postgresql.org/docs/current/errcodes-appendix.html, class 23), the store's. */
const CONTRADICTIONS = /^(SQLITE_CONSTRAINT|23\d{3}$|removed_meanwhile$)/

/** Refuses a bundle after a constraint error, such as two chapters with one number; rethrows other errors. @throws BadBundleError */
function contradiction(error?: { code?: string }): never {
  if (error && !CONTRADICTIONS.test(error.code ?? '')) throw error
  const problem = 'its content contradicts itself or the data of this project'
  throw new BadBundleError({ problem }, { cause: error })
}

function problemOf(error: unknown): string {
  return error instanceof EnvelopeError ? error.message : errorMessage(error).replace(/\.$/, '')
}
