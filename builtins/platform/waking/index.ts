import { definePlugin } from '#kernel'
import { currentService } from '#lib/current-service'
import { WakingConfig } from './config.ts'
import { Watcher } from './contract.ts'
import { fileSource, watchedPaths } from './files.ts'
import { leaveMarker, nudgeSource } from './nudges.ts'
import { FolderWatcher } from './watcher.ts'

export default definePlugin({
  name: 'waking',
  description: 'Wakes agents between heartbeats, on nudges of any process and on changes of watched files.',
  needs: ['store', 'agents'],
  section: 'daemon',
  config: WakingConfig,
  setup(svc, config) {
    const watcher = new FolderWatcher(svc, config)
    svc.provide(Watcher, watcher)
    const current = currentService(svc, Watcher)
    svc.on('config_changed', () => watcher.checkNow())
    svc.on('nudge_received', ({ nudge_id }) => leaveMarker(svc, nudge_id))
    svc.wakeSource(nudgeSource(svc, current))
    for (const path of watchedPaths(svc, config)) svc.wakeSource(fileSource(svc, current, path))
  },
})
