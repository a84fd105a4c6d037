import { definePlugin, z } from '#kernel'
import { currentService } from '#lib/current-service'
import { DaemonStarts } from '#platform/daemon/contract'
import { Effects } from '#platform/store/contract'
import { afterCycle, atShutdown } from './automatic.ts'
import { bundleOperations } from './bundle-operations.ts'
import { CheckpointService, OwnCheckpoints } from './checkpoint-service.ts'
import { CheckpointsConfig } from './config.ts'
import { BundleParts, CheckpointRestored, CheckpointSaved, Checkpoints } from './contract.ts'
import { imagesBundle } from './images.ts'
import { checkpointOperations } from './operations.ts'
import { CHECKPOINT_EFFECTS } from './repository.ts'
import { checkpointsForget } from './retention.ts'

export default definePlugin({
  name: 'checkpoints',
  description: 'Saves agents as checkpoints, restores them, and exports and imports agents as bundles.',
  needs: ['store', 'agents', 'profiles', 'models'],
  section: 'checkpoints',
  config: CheckpointsConfig,
  setup(svc, config) {
    const service = new CheckpointService(svc, config)
    svc.provide(Checkpoints, service)
    const current = currentService(svc, Checkpoints, service)
    for (const effect of CHECKPOINT_EFFECTS) svc.add(Effects, effect.kind)
    svc.provide(OwnCheckpoints, current)
    for (const operation of [...checkpointOperations, ...bundleOperations]) svc.operation(operation)
    svc.add(BundleParts, imagesBundle(svc))
    svc.event('checkpoint_saved', CheckpointSaved)
    svc.event('checkpoint_restored', CheckpointRestored)
    svc.event(
      'agent_imported',
      z.object({ agent_id: z.string(), was: z.string() }).describe('An agent was imported from a bundle'),
    )
    checkpointsForget(svc, service)

    svc.on('cycle_end', cycle => afterCycle(svc, config, current, cycle))
    svc.add(DaemonStarts, { name: svc.name, begin: async () => () => atShutdown(svc, config, current) })
  },
})
