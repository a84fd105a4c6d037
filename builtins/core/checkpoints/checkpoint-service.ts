import { isDeepStrictEqual } from 'node:util'
import { AgentDeadError, Agents } from '#core/agents/contract'
import { type Effect, errorMessage, type PluginHandle, parse, token } from '#kernel'
import { isDiskFull } from '#lib/errors'
import { secretMasker } from '#lib/secrets'
import { appendEvent, isoTime, Store, wakeAgents } from '#platform/store/contract'
import type { CheckpointsConfig } from './config.ts'
import {
  type Checkpoint,
  CheckpointFailedError,
  CheckpointNotFoundError,
  CheckpointParts,
  type CheckpointRestored,
  type Checkpoints,
  CheckpointUnreadableError,
  RestoreInterruptedError,
} from './contract.ts'
import { changesBetween } from './diff.ts'
import { CheckpointFiles } from './files.ts'
import { holdAgent, releaseAgent } from './repository.ts'

type Origin = Checkpoint['origin']

/** Checkpoints with the operations that operators use. */
export const OwnCheckpoints = token<CheckpointService>('checkpoints/checkpoints')

/** Saves and restores the state of agents. */
export class CheckpointService implements Checkpoints {
  readonly #svc: PluginHandle
  readonly #config: CheckpointsConfig
  readonly files: CheckpointFiles

  constructor(svc: PluginHandle, config: CheckpointsConfig) {
    this.#svc = svc
    this.#config = config
    this.files = new CheckpointFiles(svc)
  }

  async save(
    agent_id: string,
    label: string,
    suffering?: unknown,
    identity?: unknown,
    ctx: Readonly<Record<string, unknown>> = {},
  ): Promise<string> {
    const taken = await this.#take(agent_id, label, 'asked', { suffering, identity, ...ctx })
    return this.#write(taken)
  }

  /** Saves a checkpoint that the operator asked for, and commits `also` with its event. @returns its id */
  async keep(agent_id: string, label: string, also: readonly Effect[] = []): Promise<string> {
    return this.#write(await this.#take(agent_id, label, 'asked'), also)
  }

  /** Saves an automatic checkpoint, unless the newest one is the same. @returns its id */
  async note(agent_id: string, label: string): Promise<string | undefined> {
    const taken = await this.#take(agent_id, label, 'automatic')
    const newest = await this.get(agent_id, 'latest').catch(() => undefined)
    const same = newest && isDeepStrictEqual(newest.parts, JSON.parse(this.#mask(JSON.stringify(taken.parts))))
    return same ? undefined : this.#write(taken)
  }

  async restore(agent_id: string, ref: string): Promise<CheckpointRestored> {
    const agent = await this.#svc.use(Agents).find(agent_id)
    if (agent.died_at !== null) throw new AgentDeadError({ agent_id })
    const { checkpoint_id, parts } = await this.get(agent_id, ref)
    const { values, left_out } = this.#parseParts(checkpoint_id, parts)
    const store = this.#svc.use(Store)
    const hold = { agent_id, owner: this.#svc.ports.ids.make('restore', 8) }
    if (!(await store.apply([holdAgent(hold)]))) throw new AgentDeadError({ agent_id })
    try {
      const before = await this.#write(await this.#take(agent_id, `before ${checkpoint_id} was restored`, 'automatic'))
      const effects: Effect[] = []
      for (const part of this.#svc.list(CheckpointParts))
        if (values.has(part.name)) effects.push(...(await part.restore(agent_id, values.get(part.name))))
      const data = { agent_id, checkpoint_id, before, left_out }
      const written = await store.apply([
        ...effects,
        appendEvent({ type: 'checkpoint_restored', agent_id, data }),
        releaseAgent(hold),
        wakeAgents({ agents: [agent_id], reason: 'restored' }),
      ])
      if (!written) throw new RestoreInterruptedError({ agent_id })
      return data
    } catch (error) {
      await store.apply([releaseAgent(hold)])
      throw error
    }
  }

  diff = (a: Checkpoint, b: Checkpoint) => changesBetween(a.parts, b.parts)

  get(agent_id: string, ref: string): Promise<Checkpoint> {
    return this.files.read(agent_id, ref)
  }

  now(agent_id: string): Promise<Checkpoint> {
    return this.#take(agent_id, 'now', 'automatic')
  }

  list(agent_id: string) {
    return this.files.list(agent_id)
  }

  async remove(agent_id: string, checkpoint_id: string): Promise<void> {
    if (!(await this.files.remove(agent_id, checkpoint_id)))
      throw new CheckpointNotFoundError({ agent_id, checkpoint_id })
  }

  async prune(agent_id: string, keep: number): Promise<string[]> {
    const all = await this.list(agent_id)
    const over = (origin: Origin) => all.filter(each => each.origin === origin).slice(keep)
    const gone = [...over('asked'), ...over('automatic')].map(each => each.checkpoint_id)
    for (const id of gone) await this.files.remove(agent_id, id)
    return gone
  }

  /** Returns the values of the known parts, parsed by their modules. @throws CheckpointUnreadableError */
  #parseParts(checkpoint_id: string, parts: Checkpoint['parts']) {
    const values = new Map<string, unknown>()
    for (const { name, schema } of this.#svc.list(CheckpointParts)) {
      if (!Object.hasOwn(parts, name)) continue
      if (parts[name] === null) values.set(name, undefined)
      else
        try {
          values.set(name, parse(schema, parts[name], `Its part "${name}"`))
        } catch (error) {
          const problem = errorMessage(error).replace(/\.$/, '')
          throw new CheckpointUnreadableError({ checkpoint_id, problem }, { cause: error })
        }
    }
    return { values, left_out: Object.keys(parts).filter(name => !values.has(name)) }
  }

  async #take(
    agent_id: string,
    label: string,
    origin: Origin,
    given: Readonly<Record<string, unknown>> = {},
  ): Promise<Checkpoint> {
    const { cycle_num } = await this.#svc.use(Agents).find(agent_id)
    const parts: [string, unknown][] = []
    for (const part of this.#svc.list(CheckpointParts)) {
      const provided = given[part.name]
      const value =
        provided === undefined ? await part.capture(agent_id) : parse(part.schema, provided, `"${part.name}"`)
      parts.push([part.name, value ?? null])
    }
    const created_at = isoTime(this.#svc.clock.ms())
    const checkpoint_id = this.#svc.ports.ids.make('ckpt', 8)
    return {
      checkpoint_id,
      agent_id,
      label,
      origin,
      created_at,
      number: 0,
      cycle_num,
      parts: Object.fromEntries(parts),
    }
  }

  async #write(taken: Checkpoint, also: readonly Effect[] = []): Promise<string> {
    const { agent_id, label, origin } = taken
    let { checkpoint_id } = taken
    try {
      const all = await this.list(agent_id)
      // A simulated run that starts again makes the same ids.
      while (all.some(each => each.checkpoint_id === checkpoint_id)) checkpoint_id = this.#svc.ports.ids.make('ckpt', 8)
      const number = 1 + Math.max(0, ...all.map(each => each.number))
      await this.files.write({ ...taken, checkpoint_id, number }, json => this.#mask(json))
    } catch (error) {
      throw new CheckpointFailedError({ agent_id, problem: problemOf(error) }, { cause: error })
    }
    const data = { agent_id, checkpoint_id, label, origin }
    await this.#svc.use(Store).apply([appendEvent({ type: 'checkpoint_saved', agent_id, data }), ...also])
    await this.prune(agent_id, this.#config.keep)
    return checkpoint_id
  }

  #mask(json: string): string {
    return secretMasker(this.#svc)(json)
  }
}

function problemOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException
  if (isDiskFull(error)) return 'the disk is full; make space and try again'
  if (code === 'ENOENT') return 'its folder does not exist; the agent may have been deleted meanwhile'
  // System messages contain paths, so only the code is shown.
  if (code) return `its file could not be written (${code})`
  return errorMessage(error).replace(/\.$/, '')
}
