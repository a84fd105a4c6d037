import { errorMessage, type Kernel } from '#kernel'
import { ActiveRecording } from '#lib/recording-context'
import { type Cycle, Guards, type HeartbeatConfig, LIFECYCLE, PHASES, SchedulerToken, WakeSources } from './contract.ts'
import { heartbeatExtension } from './extension.ts'
import { Heartbeat } from './heartbeat.ts'

/** Adds the heartbeat to a kernel, with the hooks and points of its cycles, and to plugin handles. */
export function installHeartbeat(kernel: Kernel, config: HeartbeatConfig): void {
  const { hooks, points, ports, log, services } = kernel
  for (const [name, schema] of Object.entries(LIFECYCLE)) hooks.declareEvent(name, schema)
  for (const phase of PHASES) hooks.declare<Cycle, void>(phase, { kind: 'series' })
  hooks.declare<Cycle, void>('cleanup_vetoed', { kind: 'series' })
  points.open(Guards, WakeSources)
  const heartbeat = new Heartbeat({
    hooks,
    points,
    ports,
    log,
    config,
    scheduler: () => services.use(SchedulerToken),
    recording: () => (services.has(ActiveRecording) ? services.use(ActiveRecording) : undefined),
    onBeat: () => applyChanges(kernel),
  })
  Object.assign(kernel, { heartbeat })
  kernel.extensions.push(heartbeatExtension(heartbeat, hooks))
  kernel.scope.hold('heartbeat', () => heartbeat.stop())
  if (!kernel.roles.has('daemon') && (kernel.roles.has('server') || kernel.roles.has('mcp')))
    kernel.scope.hold('timer of changes', pollChanges(kernel, config))
}

/**
 * Applies changes at the interval of the heartbeat while the loop does not run in this process.
 * @returns a function that ends this
 */
function pollChanges(kernel: Kernel, config: HeartbeatConfig): () => void {
  let cancel = () => {}
  const wait = () => {
    cancel = kernel.ports.clock.after(config.heartbeat * 1000, () => {
      wait()
      if (!kernel.heartbeat.live) void applyChanges(kernel)
    })
  }
  wait()
  return () => cancel()
}

/** Applies changes of configuration and plugins, between two cycles. */
async function applyChanges(kernel: Kernel): Promise<void> {
  const { config, log, hooks } = kernel
  try {
    const keys = await config.reload()
    config.warnOfUnknownKeys(log)
    if (keys.length > 0) {
      log.info({}, `configuration applied: ${keys.join(', ')}`)
      await hooks.emit('config_changed', { keys })
    }
  } catch (error) {
    log.error({}, `the last good configuration stays in force: ${errorMessage(error)}`)
  }
  kernel.tick()
}
