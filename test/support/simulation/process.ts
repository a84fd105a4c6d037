import { CallObservers, ModelProviders } from '#core/models/contract'
import {
  type Clock,
  definePlugin,
  type Ids,
  type Kernel,
  type PluginDefinition,
  type Ports,
  type Random,
  type Role,
} from '#kernel'
import type { Opener } from '#lib/opener'
import { sleepOn } from '#lib/sleep'
import { Medium } from '#platform/store/contract'
import { type Tool, type ToolCall, Toolkits } from '#tools/toolkits/contract'
import { strictModel } from '../model/strict-model.ts'
import type { InvariantChecker } from './checks/invariant-checker.ts'
import type { SimulatedTime } from './clock.ts'
import type { Dice } from './dice.ts'
import type { Disk } from './disk/disk.ts'
import type { FaultInjector } from './fault-injector.ts'
import { scriptedModel } from './model/model.ts'
import { simulatedToolkit, withFaults } from './model/tools.ts'
import type { SharedDatabase } from './shared-database.ts'

/** Folder of the project in every simulated run, on its own disk. */
export const ROOT = '/project'

/** What the processes of a simulated run share. */
export interface ProcessParts {
  opener: Opener
  also: readonly PluginDefinition[]
  /** Tools of these plugins. */
  favoured: readonly string[]
  time: SimulatedTime
  disk: Disk
  database: SharedDatabase
  injector: FaultInjector
  /** Undefined while the project is prepared. */
  checker: InvariantChecker | undefined
  random: Random
  ids: Ids
  dice: { model: Dice; tools: Dice }
  /** Number of the process that listens at each path. */
  listening: Map<string, number>
  /** Called at each moment at which a process could die. */
  mayKill(process: number, moment: string): void
}

/** One process of the service in a simulated run. It may be killed at any moment, and has no effect after that. */
export class SimulatedProcess {
  readonly number: number
  readonly roles: readonly Role[]
  kernel: Kernel | undefined
  /** Number of timers that the process has set. */
  timers = 0
  #alive = true
  #stopping: Promise<void> | undefined
  readonly #parts: ProcessParts

  constructor(number: number, roles: readonly Role[], parts: ProcessParts) {
    this.number = number
    this.roles = roles
    this.#parts = parts
  }

  get alive(): boolean {
    return this.#alive
  }

  /** Starts the service. @throws what keeps it from starting, after which the process is gone */
  async start(): Promise<void> {
    const { opener, also, checker } = this.#parts
    const write = (line: string) => this.#alive && checker?.onLog(this.number, line)
    try {
      const kernel = await opener.open({
        root: ROOT,
        roles: this.roles,
        ports: this.#ports(),
        log: { level: 'error', write },
        also: [...also, this.#plugin()],
      })
      this.#injectFaults(kernel)
      checker?.follow(this.number, kernel, () => this.#alive)
      if (!this.#stopping) this.kernel = kernel
    } catch (error) {
      if (this.#alive) this.kill()
      throw error
    }
  }

  /** Stops the process in order, once. No operator acts through it any more. */
  stop(): Promise<void> {
    this.#stopping ??= this.#end()
    return this.#stopping
  }

  async #end(): Promise<void> {
    const { kernel } = this
    this.kernel = undefined
    // A process that is not up yet has nothing to clean up.
    if (!kernel) return this.kill()
    await kernel.close()
    if (this.#alive) this.#checkedStop(kernel.heartbeat.inFlight.length)
  }

  /** Kills the process at once: none of its code runs on. */
  kill(): void {
    this.#alive = false
    const { database, listening, checker } = this.#parts
    database.drop(this.number)
    for (const [path, number] of listening) if (number === this.number) listening.delete(path)
    checker?.afterKill(this.number)
  }

  #checkedStop(cycles: number): void {
    this.#parts.checker?.afterStop(this.number, this.timers, cycles)
    this.kill()
  }

  #ports(): Partial<Ports> {
    const { disk, injector, listening, random, ids } = this.#parts
    const alive = () => this.#alive
    return {
      clock: this.#clock(),
      random,
      ids,
      files: disk.filesFor(String(this.number), alive, injector.disk),
      inodeOf: path => disk.inodeOf(path),
      stampOf: path => disk.stampOf(path),
      touch: (path, ms) => disk.touch(path, ms),
      env: {},
      fetch: unreachable,
      lookup: unreachable,
      spawn: () => {
        throw Object.assign(new Error('there are no programs here'), { code: 'ENOENT', syscall: 'spawn' })
      },
      presence: {
        hold: async path => {
          if (listening.has(path)) throw Object.assign(new Error(`EADDRINUSE ${path}`), { code: 'EADDRINUSE' })
          disk.put(path, '')
          listening.set(path, this.number)
          return async () => void listening.delete(path)
        },
        held: async path => listening.has(path),
      },
    }
  }

  #clock(): Clock {
    const inner = this.#parts.time.clockFor(() => this.#alive)
    const clock: Clock = {
      ...inner,
      after: (ms, fn) => {
        this.timers++
        let counted = true
        const over = () => {
          if (counted) this.timers--
          counted = false
        }
        const cancel = inner.after(ms, () => {
          over()
          fn()
        })
        return () => {
          over()
          cancel()
        }
      },
      sleep: (ms, signal) => sleepOn(clock, ms, signal),
      yield: () => new Promise(resolve => clock.after(0, resolve)),
    }
    return clock
  }

  /** Returns the plugin that replaces the machine inside the service. */
  #plugin(): PluginDefinition {
    const { database, dice, injector, checker, favoured } = this.#parts
    const alive = () => this.#alive
    return definePlugin({
      name: 'simulated-world',
      setup: svc => {
        svc.provide(Medium, database.mediumFor(this.number, alive))
        svc.toolkit(simulatedToolkit())
        const model = scriptedModel({
          clock: svc.clock,
          dice: dice.model,
          injector,
          favoured,
          onAsked: request => checker?.onModelCall(request),
          onBilled: tokens => checker?.onBilled(tokens),
          names: () => checker?.names() ?? [],
        })
        svc.add(ModelProviders, strictModel(model, { onRefusal: refusal => checker?.onRefusal(refusal) }))
        svc.add(CallObservers, {
          name: 'world',
          began: ({ call_id }) => {
            checker?.onToolCall(call_id)
            return () => {}
          },
        })
      },
    })
  }

  /** Adds random faults to every tool. */
  #injectFaults(kernel: Kernel): void {
    const { dice, injector, checker, mayKill } = this.#parts
    const parts = {
      clock: kernel.ports.clock,
      dice: dice.tools,
      injector,
      alive: () => this.#alive,
      onBegun: (tool: Tool, args: unknown, call: ToolCall) => {
        checker?.onToolBegun(this.number, tool, args, call)
        mayKill(this.number, 'in a tool')
      },
    }
    for (const { tools } of kernel.list(Toolkits)) {
      for (const tool of tools) {
        const original = originals.get(tool) ?? tool.execute
        originals.set(tool, original)
        tool.execute = withFaults(original, tool, parts)
      }
    }
  }
}

/** Original functions of tools: some tools are the same object in every service that this program opens. */
const originals = new WeakMap<object, (...args: never[]) => unknown>()

async function unreachable(): Promise<never> {
  throw Object.assign(new Error('there is no network here'), { code: 'ENOTFOUND' })
}
