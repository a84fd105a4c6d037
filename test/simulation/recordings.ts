import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ModelProviders } from '#core/models/contract'
import { definePlugin, type PluginDefinition, type PluginHandle } from '#kernel'
import { ActiveRecording } from '#lib/recording-context'
import type { ReplayVerdict } from '#observability/recordings/contract'
import { eventsOf } from '#observability/recordings/log'
import { type Entry, LOG_VERSION } from '#observability/recordings/recording/entries'
import { Recorder } from '#observability/recordings/recording/recorder'
import { type Original, replay } from '#observability/recordings/replay/replay'
import { DaemonStarts } from '#platform/daemon/contract'
import { isoTime, Store } from '#platform/store/contract'
import { BUILTINS } from '../../builtins/index.ts'
import { openKernel } from '../../embed/compose.ts'
import { simulatedToolkit } from '../support/simulation/model/tools.ts'
import type { SimulatedService } from '../support/simulation/simulated-service.ts'

/** One recorded run of the daemon in a simulated run: a process from its start to its end or kill. */
interface OpenRecording {
  run_id: string
  process: number
  recorder: Recorder
  state: Buffer
  config: Record<string, unknown>
  started_at: number
  owner: string
  entries: Entry[] | undefined
  /** Sequence number of its last event; null for a killed process. */
  last_seq: number | null
  /** Whether no other process used the same database meanwhile. */
  alone: boolean
}

/** Records every run of the daemon in the simulated runs that use its plugin. */
export class SimulationRecordings {
  readonly #recordings: OpenRecording[] = []
  #world: SimulatedService | undefined
  #alive = new Set<number>()
  #opened = 0

  /** Plugin for every process of a simulated run. */
  readonly plugin: PluginDefinition = definePlugin({
    name: 'world-recordings',
    needs: ['store', 'runs', 'daemon'],
    setup: svc => {
      const process = this.#opened
      let recording: OpenRecording | undefined
      svc.on('config_changed', () => recording?.recorder.add(['c', svc.config.tree('live')]))
      svc.add(DaemonStarts, {
        name: 'world-recordings',
        begin: async () => {
          recording = await this.#begin(svc, process).catch(() => undefined)
          return async () => this.#end(process, true)
        },
        join: async () => undefined,
      })
    },
  })

  /** Follows the processes of a simulated run. */
  follow(world: SimulatedService): void {
    this.#world = world
    this.#recordings.length = 0
    this.#alive.clear()
    const { journal } = world
    const write = journal.write.bind(journal)
    journal.write = (what, about = {}) => {
      const { process = 0 } = about as { process?: number }
      if (what === 'opens') this.#opens(process)
      if (what === 'killed') this.#end(process, false)
      write(what, about)
    }
  }

  #opens(process: number): void {
    this.#opened = process
    if (this.#alive.size > 0)
      for (const recording of this.#recordings) if (recording.entries === undefined) recording.alone = false
    this.#alive.add(process)
  }

  async #begin(svc: PluginHandle, process: number): Promise<OpenRecording> {
    const store = svc.use(Store)
    const run = await store.get<{ run_id: string }>(
      "SELECT run_id FROM runs WHERE kind = 'daemon' ORDER BY rowid DESC LIMIT 1",
    )
    const folder = mkdtempSync(join(tmpdir(), 'svc-recordings-'))
    const recorder = new Recorder(text => text)
    try {
      const copied = store.copyTo!(join(folder, 'state.db'))
      const undo = svc.provide(ActiveRecording, recorder)
      await copied.catch(async error => {
        await undo()
        throw error
      })
      const recording: OpenRecording = {
        run_id: run!.run_id,
        process,
        recorder,
        config: svc.config.tree('live'),
        owner: store.owner,
        started_at: svc.clock.ms(),
        entries: undefined,
        last_seq: null,
        alone: this.#alive.size === 1,
        state: readFileSync(join(folder, 'state.db')),
      }
      this.#recordings.push(recording)
      return recording
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }

  #end(process: number, whole: boolean): void {
    this.#alive.delete(process)
    for (const recording of this.#recordings) {
      if (recording.process !== process || recording.entries !== undefined) continue
      recording.entries = recording.recorder.take().flatMap(text => JSON.parse(`[${text}]`) as Entry[])
      const last = this.#world?.look.get<{ seq: number | null }>(
        'SELECT max(seq) AS seq FROM events WHERE run_id = ?',
        [recording.run_id],
      )
      recording.last_seq = whole ? (last?.seq ?? 0) : null
      recording.recorder.stop()
    }
  }

  /** Returns the recordings of processes that had the database to themselves. */
  async recordings(): Promise<Original[]> {
    const { look } = this.#world!
    const store = { all: async (sql: string, params: unknown[]) => look.all(sql, params) } as unknown as Store
    const made: Original[] = []
    for (const { run_id, entries, last_seq, alone, state, config, started_at, owner } of this.#recordings) {
      if (!entries || !alone) continue
      const events = await eventsOf(store, run_id)
      const about: Original['about'] = {
        run_id,
        kind: 'daemon',
        within: null,
        v: LOG_VERSION,
        svc_version: '',
        seed: 0,
        pid: process.pid,
        owner,
        started_at: isoTime(started_at),
        ended_at: null,
        state: '',
        state_bytes: state.length,
        bytes: 0,
        cycles: 0,
        steps: 0,
        cut: null,
        inexact: [],
        events_of: run_id,
        secrets: [],
        forked_from: null,
        config,
        last_seq,
        plugins: null,
      }
      made.push({ about, entries, state, events })
    }
    return made
  }
}

/**
 * What a replay needs of the simulation: its tools, which are not run, and the name of its model, which is not asked.
 */
const furniture = definePlugin({
  name: 'world-furniture',
  setup(svc) {
    svc.toolkit(simulatedToolkit())
    svc.add(ModelProviders, {
      name: 'scripted',
      notice: 'scripted, not an AI model',
      availability: async () => ({ available: true, reason: null }),
      defaultModel: async () => 'dice',
      stream: () => {
        throw new Error('a replay asks no model')
      },
    })
  },
})

/** Opens a project of its own in which recordings are replayed. */
export async function replayer(): Promise<{
  replay(original: Original): Promise<ReplayVerdict>
  [Symbol.asyncDispose](): Promise<void>
}> {
  const root = mkdtempSync(join(tmpdir(), 'svc-replayer-'))
  let handle: PluginHandle | undefined
  const plugin = definePlugin({
    name: 'replayer',
    setup: svc => {
      // The first handle is this kernel's own; a replay sets up the plugin again.
      handle ??= svc
    },
  })
  const kernel = await openKernel({
    pluginFiles: 'all',
    root,
    roles: [],
    builtins: [...BUILTINS, plugin],
    ports: { env: {} },
    log: { level: 'silent' },
  })
  return {
    replay: original => replay(handle!, original, { signal: new AbortController().signal, also: [furniture] }),
    async [Symbol.asyncDispose]() {
      await kernel.close()
      rmSync(root, { recursive: true, force: true })
    },
  }
}
