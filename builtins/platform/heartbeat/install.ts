import type { Kernel } from '#kernel'
import { ActiveRecording } from '#lib/recording-context'
import { type Cycle, Guards, type HeartbeatConfig, LIFECYCLE, PHASES, SchedulerToken, WakeSources } from './contract.ts'
import { heartbeatExtension } from './extension.ts'
import { Heartbeat } from './heartbeat.ts'

/** Gives a kernel the heartbeat, with the hooks and points of its cycles and what plugins' handles have of it. */
export function installHeartbeat(kernel: Kernel, config: HeartbeatConfig): void {
  const { hooks, points, ports, log, services } = kernel
  for (const [name, schema] of Object.entries(LIFECYCLE)) hooks.declareEvent(name, schema)
  for (const phase of PHASES) hooks.declare<Cycle, void>(phase, { kind: 'series' })
  points.open(Guards, WakeSources)
  const heartbeat = new Heartbeat({
    ...{ hooks, points, ports, log, config },
    scheduler: () => services.use(SchedulerToken),
    recording: () => (services.has(ActiveRecording) ? services.use(ActiveRecording) : undefined),
    onBeat: () => kernel.tick(),
  })
  Object.assign(kernel, { heartbeat })
  kernel.extend(heartbeatExtension(heartbeat))
  kernel.scope.hold('heartbeat', () => heartbeat.stop())
  if (!kernel.roles.has('daemon') && (kernel.roles.has('server') || kernel.roles.has('mcp')))
    kernel.scope.hold('timer of changes', applyChanges(kernel, config))
}

/** Applies changes at the interval of the heartbeat while the loop does not run in this process. @returns its end */
function applyChanges(kernel: Kernel, config: HeartbeatConfig): () => void {
  let cancel = () => {}
  const wait = () => {
    cancel = kernel.ports.clock.after(config.heartbeat * 1000, () => {
      wait()
      if (!kernel.heartbeat.live) void kernel.tick()
    })
  }
  wait()
  return () => cancel()
}
