import { definePlugin } from '#kernel'
import { currentService } from '#lib/current-service'
import { ActiveRecording } from '#lib/recording-context'
import { DaemonStarts } from '#platform/daemon/contract'
import { RetentionRules } from '#platform/retention/contract'
import { RecordingsConfig } from './config.ts'
import { Recordings } from './contract.ts'
import { recordingOperations } from './operations.ts'
import { OwnRecordings, RecordingService } from './recording-service.ts'

export default definePlugin({
  name: 'recordings',
  description: 'Records runs, so that they can be replayed, forked and compared.',
  needs: ['store', 'runs'],
  section: 'recordings',
  config: RecordingsConfig,
  setup(svc, config) {
    const service = new RecordingService(svc, config, backend => svc.provide(ActiveRecording, backend))
    svc.provide(Recordings, service)
    svc.provide(OwnRecordings, currentService(svc, Recordings, service))
    for (const operation of recordingOperations) svc.operation(operation)
    svc.add(RetentionRules, {
      name: 'recordings',
      always: true,
      count: async () => (await service.old()).length,
      // Everything is removed at once; the result below `limit` means that none is left.
      piece: async (_, limit) => Math.min(await service.prune(), limit - 1),
    })
    svc.on('config_changed', () => service.recordConfig())
    svc.on('plugin_reloaded', ({ plugin, outcome }) => service.pluginChanged(plugin, outcome))
    // Every process may run a task.
    svc.start(() => () => service.close(), { in: ['daemon', 'server', 'mcp', 'cli'] })
    svc.add(DaemonStarts, { name: 'recordings', begin: () => service.record(true), join: () => service.record(false) })
  },
})
