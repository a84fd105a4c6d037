import { AgentStatus, Agents } from '#core/agents/contract'
import { errorMessage, HostToken, type PluginHandle, type PluginState, token, type Undo, z } from '#kernel'
import { Daemon, type FoundDaemon } from '#platform/daemon/contract'

/** Interval between reads of the statuses while there is a reader, in milliseconds. */
const LOOK_MS = 1_000
/** Number of notices kept for readers that are behind. */
const KEPT = 100

const Keys = z.object({ keys: z.array(z.string()) })
const Reloaded = z.object({ plugin: z.string(), outcome: z.string() })
const Statuses = z.object({
  daemon: z.enum(['healthy', 'stalled', 'dead', 'stopped']),
  plugins: z.int().describe('Number of failed or suspended plugins'),
  agents: z.record(AgentStatus, z.int()).describe('Number of agents in each status'),
})

/** Changes in this process or by the passage of time that are not events of the log. */
export const Notice = z.discriminatedUnion('type', [
  z.object({ type: z.literal('status_changed'), data: Statuses }),
  z.object({ type: z.literal('config_changed'), data: Keys }),
  z.object({ type: z.literal('plugin_reloaded'), data: Reloaded }),
])
export type Notice = z.infer<typeof Notice>

export const OwnNotices = token<Notices>('events/notices')

/**
 * Notices of this process for all readers of the stream. The statuses are read once a second while there is a reader.
 */
export class Notices {
  readonly #svc: PluginHandle
  readonly #onNotice: () => void
  #kept: Notice[] = []
  #count = 0
  #readers = 0
  #stop = new AbortController()
  #status: string | undefined

  /** @param onNotice called after each notice */
  constructor(svc: PluginHandle, onNotice: () => void) {
    this.#svc = svc
    this.#onNotice = onNotice
    svc.on('config_changed', data => this.#add({ type: 'config_changed', data }))
    svc.on('plugin_reloaded', data => this.#add({ type: 'plugin_reloaded', data }))
  }

  /** Number of notices so far. */
  get count(): number {
    return this.#count
  }

  /** Returns the notices after the first `count`, oldest first. */
  since(count: number): readonly Notice[] {
    return this.#count === count ? [] : this.#kept.slice(-(this.#count - count))
  }

  /** Polls the statuses until the returned function is called. */
  watch(): Undo {
    if (this.#readers++ === 0) {
      this.#stop = new AbortController()
      void this.#look(this.#stop.signal)
    }
    return () => {
      if (--this.#readers === 0) this.#stop.abort()
    }
  }

  #add(notice: Notice): void {
    this.#kept = [...this.#kept, notice].slice(-KEPT)
    this.#count++
    this.#onNotice()
  }

  async #look(signal: AbortSignal): Promise<void> {
    this.#status = undefined
    while (!signal.aborted) {
      try {
        const data = await this.#statuses()
        const status = JSON.stringify(data)
        // The first status is no change: the reader reads it separately.
        if (this.#status !== undefined && this.#status !== status) this.#add({ type: 'status_changed', data })
        this.#status = status
      } catch (error) {
        this.#svc.log.debug({}, `the statuses cannot be read: ${errorMessage(error)}`)
      }
      await this.#svc.clock.sleep(LOOK_MS, signal)
    }
  }

  async #statuses(): Promise<z.infer<typeof Statuses>> {
    const { goals_active: _, total: __, ...agents } = await this.#svc.use(Agents).counts()
    const found = this.#svc.has(Daemon) ? await this.#svc.use(Daemon).find() : undefined
    const plugins = this.#svc.use(HostToken).list().filter(isBroken).length
    return { daemon: healthOf(found), plugins, agents }
  }
}

const isBroken = ({ state }: PluginState) => state === 'failed' || state === 'suspended'

function healthOf(found: FoundDaemon | undefined): z.infer<typeof Statuses>['daemon'] {
  if (!found) return 'stopped'
  if (!found.alive) return 'dead'
  return found.stalled || found.failing ? 'stalled' : 'healthy'
}
