import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  defineError,
  definePlugin,
  HostToken,
  type Ids,
  type Kernel,
  type PluginDefinition,
  type PluginHandle,
  type Ports,
} from '#kernel'
import { keyedIds, keyedRandom } from '#lib/keyed-random'
import { OpenerToken } from '#lib/opener'
import { ActiveRecording, type RecordingBackend } from '#lib/recording-context'
import type { Tree } from '#lib/tree'
import { moveOpenRuns } from '#observability/runs/statements'
import { Effects, Store } from '#platform/store/contract'
import { NotReplayableError, type Recording } from '../contract.ts'
import { statements } from '../recording/effects.ts'
import type { CompleteRecording } from '../recording/recording-files.ts'
import { ReplayClock } from './clock.ts'

/** Value of the environment variables whose recorded values are secrets. */
const HIDDEN = '***hidden***'

const OfflineError = defineError({
  code: 'offline',
  status: 409,
  title: 'Access refused in a replay',
  message: (p: { what: string }) =>
    `A replay cannot access anything outside its temporary project; this access was refused: ${p.what}.`,
})

export interface ReplayKernel extends AsyncDisposable {
  readonly kernel: Kernel
  readonly clock: ReplayClock
  readonly root: string
  /** Applies another configuration. */
  configure(config: Readonly<Record<string, unknown>>): Promise<void>
  /**
   * Loads a plugin, replacing one of the same name.
   * @param origin its file
   * @throws PluginError with the place of the failure
   */
  loadPlugin(definition: PluginDefinition, origin?: string): Promise<void>
}

export interface ReplayKernelOptions {
  /** Plugins in addition to the project's own. */
  also?: readonly PluginDefinition[]
  /** Ports through which the replay may reach outside its folder. Default: none. */
  reach?: Partial<Pick<Ports, 'fetch' | 'spawn' | 'env'>>
  /** Supplies ids that are not in the recording. */
  ids?: Ids
}

/** Opens a recording's project in a temporary folder, with its database, its configuration and this program's code. */
export async function openReplayKernel(
  svc: PluginHandle,
  { about, state }: CompleteRecording,
  backend: RecordingBackend,
  options: ReplayKernelOptions = {},
): Promise<ReplayKernel> {
  const { files } = svc.ports
  const root = await files.mkdtemp(join(tmpdir(), 'svc-replay-'))
  await files.mkdir(join(root, '.svc'), { recursive: true, mode: 0o700 })
  // An abandoned cycle may still write a file, so the removal is retried.
  const removeFolder = () => files.rm(root, { recursive: true, force: true, maxRetries: 5 })
  try {
    await files.writeFile(join(root, '.svc', 'svc.db'), state, { mode: 0o600 })
    const file = join(root, '.svc', 'config.yaml')
    const write = (config: Readonly<Record<string, unknown>>) =>
      files.writeFile(file, `${JSON.stringify(configFor(config))}\n`, { mode: 0o600 })
    await write(about.config)
    const random = keyedRandom(about.seed)
    const clock = new ReplayClock(svc.clock, Date.parse(about.started_at))
    const kernel = await svc.use(OpenerToken).open({
      root,
      roles: ['cli'],
      ports: {
        files,
        clock,
        random,
        ids: options.ids ?? keyedIds(random),
        fetch: async input => {
          throw new OfflineError({ what: String(input) })
        },
        spawn: command => {
          throw new OfflineError({ what: command })
        },
        env: Object.fromEntries(about.secrets.map(name => [name, HIDDEN])),
        ...options.reach,
      },
      log: { level: 'silent', write: () => {} },
      also: [...initialPlugins(svc, about), ...(options.also ?? []), playbackPlugin(backend)],
    })
    // A run is recognized by its process id, so it is moved to this process.
    await kernel.use(Store).apply([statements([moveOpenRuns(about.pid, process.pid)])])
    const close = async () => {
      await kernel.close()
      await removeFolder()
    }
    const configure = async (config: Readonly<Record<string, unknown>>) => {
      await write(config)
      await kernel.config.reload()
    }
    const loadPlugin = async (definition: PluginDefinition, origin?: string) => {
      await kernel.host.remove(definition.name)
      await kernel.host.add(definition, origin)
    }
    return { kernel, clock, root, configure, loadPlugin, [Symbol.asyncDispose]: close }
  } catch (error) {
    await removeFolder()
    throw new NotReplayableError({ run_id: about.run_id, why: String((error as Error).message) }, { cause: error })
  }
}

/** Returns today's versions of the file plugins that a run began with. */
function initialPlugins(svc: PluginHandle, { plugins }: Recording): PluginDefinition[] {
  const all = svc.use(HostToken).definitions()
  return plugins === null ? all : all.filter(({ name }) => plugins.includes(name))
}

function playbackPlugin(backend: RecordingBackend): PluginDefinition {
  return definePlugin({
    name: 'playback',
    description: 'Replays a recording.',
    setup(svc) {
      svc.provide(ActiveRecording, backend)
      svc.add(Effects, statements.kind)
    },
  })
}

/** Returns a recorded configuration without the store, telemetry, recordings and plugin files. */
function configFor(config: Readonly<Record<string, unknown>>): Tree {
  const { store: _, telemetry: __, ...rest } = config as Tree
  return {
    ...rest,
    plugins: { ...(rest.plugins as Tree | undefined), enabled: false, allowlist: [] },
    recordings: { ...(rest.recordings as Tree | undefined), enabled: false },
  }
}
