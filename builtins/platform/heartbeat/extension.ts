import { checkFields, type Extension, errorMessage, type Hooks, intercept } from '#kernel'
import { PluginSuspendedError } from '#platform/plugin-files/contract'
import { type GuardOptions, Guards, type HeartbeatControl, WakeSources } from './contract.ts'
import { registeredGuard } from './guards.ts'
import { hookSet } from './hook-set.ts'

/** Adds `heartbeat`, `guard`, `wakeSource` and `hooks` to plugin handles. */
export function heartbeatExtension(heartbeat: HeartbeatControl, hooks: Hooks): Extension {
  return (svc, { builtin, interceptor }) => {
    let guards = 0
    return {
      heartbeat,
      get hooks() {
        return hookSet(svc, hooks)
      },
      guard(phase, guard, { name: given, failClosed: closed, busy, hasWork = busy }: GuardOptions = {}) {
        const name = given ?? guard?.name ?? `${svc.name}${guards++ || ''}`
        const failClosed = () => closed ?? (builtin && svc.config.get('daemon.guards_fail_closed') === true)
        const registered = registeredGuard(phase, guard, {
          name,
          owner: svc.name,
          interceptor,
          clock: svc.clock,
          failClosed,
          failed: ({ agent_id, cycle_num, phase }, thrown) => {
            const error = errorMessage(thrown)
            if (!(thrown instanceof PluginSuspendedError))
              svc.log.error({ agent_id, cycle_num }, `guard "${name}" failed in phase ${phase}: ${error}`)
            if (failClosed()) void svc.emit('guard_failed', { agent_id, cycle_num, phase, guard: name, error })
          },
        })
        return svc.add(Guards, hasWork ? { ...registered, hasWork } : registered)
      },
      wakeSource(source) {
        const name = source?.name || svc.name
        checkFields(WakeSources.name, WakeSources.options.has, { ...source, name, wait: source?.wait }, svc.name)
        const wait = intercept(interceptor, { kind: 'wake_source', name }, (end: AbortSignal) => source.wait(end))
        return svc.add(WakeSources, { name, wait })
      },
    }
  }
}
